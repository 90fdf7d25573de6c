//! Hosts with OpenAI's Chat Completions: where they are, and the variable of their key.
//!
//! Their deviations are in [`known_hosts`](crate::openai_chat::known_hosts), by the domain.

/// Declares [`ChatHost`] with a row for each host.
macro_rules! chat_hosts {
    ($($(#[$doc:meta])* $host:ident = $base_url:literal, $key_env:literal;)+) => {
        /// A host that serves models of many companies by OpenAI's Chat Completions.
        ///
        /// ```
        /// use tool_adapters::providers::ChatHost;
        /// use tool_adapters::transport::http::HttpModel;
        ///
        /// assert_eq!(ChatHost::Groq.base_url(), "https://api.groq.com/openai/v1");
        /// let model = HttpModel::at(ChatHost::Groq, "openai/gpt-oss-120b"); // GROQ_API_KEY
        /// # let _ = model;
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ChatHost {
            $($(#[$doc])* $host,)+
        }

        impl ChatHost {
            /// All hosts.
            pub const ALL: [Self; [$(stringify!($host)),+].len()] = [$(Self::$host),+];

            /// Returns the base URL.
            pub fn base_url(self) -> &'static str {
                match self {
                    $(Self::$host => $base_url,)+
                }
            }

            /// Returns the environment variable of the API key.
            pub fn key_env(self) -> &'static str {
                match self {
                    $(Self::$host => $key_env,)+
                }
            }
        }
    };
}

chat_hosts! {
    /// Cerebras.
    Cerebras = "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY";
    /// `DeepSeek`.
    DeepSeek = "https://api.deepseek.com", "DEEPSEEK_API_KEY";
    /// Fireworks.
    Fireworks = "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY";
    /// Groq.
    Groq = "https://api.groq.com/openai/v1", "GROQ_API_KEY";
    /// Moonshot, which serves Kimi.
    Moonshot = "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY";
    /// `OpenRouter`.
    OpenRouter = "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY";
    /// Perplexity.
    Perplexity = "https://api.perplexity.ai", "PERPLEXITY_API_KEY";
    /// Together.
    Together = "https://api.together.xyz/v1", "TOGETHER_API_KEY";
    /// xAI, which serves Grok.
    XAi = "https://api.x.ai/v1", "XAI_API_KEY";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai_chat::known_hosts::KNOWN_HOSTS;

    #[test]
    fn the_deviations_of_each_host_are_known() {
        for host in ChatHost::ALL {
            let is_of = |domain: &str| host.base_url().contains(domain);
            let is_known = KNOWN_HOSTS.iter().any(|known| is_of(known.domain));
            assert!(is_known, "{host:?}");
        }
    }

    #[test]
    fn the_book_has_each_host() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/models.md");
        let book = std::fs::read_to_string(path).expect("the book");
        for host in ChatHost::ALL {
            let [url, key] = [host.base_url(), host.key_env()];
            let row = format!("| `{host:?}` | `{url}` | `{key}` |");
            assert!(book.contains(&row), "{row}");
        }
    }
}
