//! A script, and a call of it.

use redis::{Cmd, ToRedisArgs};

/// A script that runs on the server.
pub(crate) struct LuaScript {
    /// Of the crate, for the digest by which the server knows it.
    digest: redis::Script,
    body: String,
    /// True if what it changes has to reach replicas, where the store asks for that.
    is_copied: bool,
}

impl LuaScript {
    pub(crate) fn new(body: &str, is_copied: bool) -> Self {
        Self {
            digest: redis::Script::new(body),
            body: body.to_owned(),
            is_copied,
        }
    }

    /// Begins a call with these keys.
    pub(crate) fn key(&'static self, keys: impl ToRedisArgs) -> ScriptCall {
        let mut call = self.call();
        call.key(keys);
        call
    }

    /// Begins a call.
    pub(crate) fn call(&'static self) -> ScriptCall {
        ScriptCall {
            script: self,
            keys: Vec::new(),
            arguments: Vec::new(),
        }
    }
}

/// A call of a script. All its keys have one hash tag.
pub(crate) struct ScriptCall {
    script: &'static LuaScript,
    keys: Vec<Vec<u8>>,
    arguments: Vec<Vec<u8>>,
}

impl ScriptCall {
    pub(crate) fn key(&mut self, key: impl ToRedisArgs) -> &mut Self {
        key.write_redis_args(&mut self.keys);
        self
    }

    pub(crate) fn arg(&mut self, argument: impl ToRedisArgs) -> &mut Self {
        argument.write_redis_args(&mut self.arguments);
        self
    }

    pub(crate) fn is_copied(&self) -> bool {
        self.script.is_copied
    }

    /// Returns the command that runs the script by its digest.
    pub(crate) fn by_digest(&self) -> Cmd {
        self.command("EVALSHA", self.script.digest.get_hash())
    }

    /// Returns the command that runs the script by its text, for a server that does not know it.
    /// The server knows it from then on. It is the same round trip to the same server, so that a
    /// node of a cluster that is down keeps no other from learning a script.
    pub(crate) fn by_text(&self) -> Cmd {
        self.command("EVAL", &self.script.body)
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command
            .arg(script)
            .arg(self.keys.len())
            .arg(&self.keys)
            .arg(&self.arguments);
        command
    }
}
