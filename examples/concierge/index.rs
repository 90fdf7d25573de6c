//! The search index over titles and texts: tantivy, in memory.

use crate::articles::Article;
use schemars::JsonSchema;
use serde::Serialize;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::snippet::SnippetGenerator;
use tantivy::tokenizer::{
    Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer, StopWordFilter, TextAnalyzer,
};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term};
use tool_core::text::truncate;

/// A match.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Hit {
    /// The id that `kb_get` takes
    pub(crate) id: String,
    pub(crate) title: String,
    /// The part of the text that matches best
    pub(crate) snippet: String,
    /// The score of the match, comparable within one search only
    pub(crate) score: f64,
}

/// The indexed articles.
pub(crate) struct ArticleIndex {
    reader: IndexReader,
    words: TextAnalyzer,
    fields: Fields,
}

#[derive(Clone, Copy)]
struct Fields {
    id: Field,
    title: Field,
    body: Field,
}

/// Words of questions, which match no article.
const QUESTION_WORDS: &str = "a about an and any are as at be but by can could do does for from get had has have how i if in \
    into is it its may me my no not of on one or our shall should so such that the their them then there these they \
    this to too us was we were what when where which who why will with would you your";

/// The name of the tokenizer in the index.
const WORDS: &str = "words";
/// The weight of a word in the title. A word in the text has the weight 1.
const TITLE_BOOST: f32 = 2.0;
/// The length of a snippet, in characters.
const SNIPPET: usize = 160;
/// The memory of the index writer, in bytes: the minimum of tantivy.
const WRITER_MEMORY: usize = 15_000_000;

impl ArticleIndex {
    /// Indexes the articles.
    pub(crate) fn new(articles: &[Article]) -> Result<Self, TantivyError> {
        let (schema, fields) = schema();
        let index = Index::create_in_ram(schema);
        let words = analyzer();
        index.tokenizers().register(WORDS, words.clone());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, WRITER_MEMORY)?;
        for article in articles {
            let mut document = TantivyDocument::new();
            document.add_text(fields.id, &article.id);
            document.add_text(fields.title, &article.title);
            document.add_text(fields.body, &article.body);
            writer.add_document(document)?;
        }
        writer.commit()?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        Ok(Self {
            reader,
            words,
            fields,
        })
    }

    /// Returns the articles with a word of the query, the best first. Any text is a valid query.
    pub(crate) fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, TantivyError> {
        let query = self.query(query);
        let searcher = self.reader.searcher();
        let mut snippets = SnippetGenerator::create(&searcher, &query, self.fields.body)?;
        snippets.set_max_num_chars(SNIPPET);
        let found = searcher.search(&query, &TopDocs::with_limit(limit.max(1)).order_by_score())?;
        let hits = found.into_iter().map(|(score, address)| {
            let Article { id, title, body } = self.article(&searcher.doc(address)?);
            let snippet = snippets.snippet(&body);
            // A match in the title only has no snippet.
            let snippet = if snippet.is_empty() {
                truncate(&body, SNIPPET)
            } else {
                snippet.fragment().to_owned()
            };
            let snippet = snippet.split_whitespace().collect::<Vec<_>>().join(" ");
            Ok(Hit {
                id,
                title,
                snippet,
                score: (f64::from(score) * 100.0).round() / 100.0,
            })
        });
        hits.collect()
    }

    /// Returns the article with this id.
    pub(crate) fn get(&self, id: &str) -> Result<Option<Article>, TantivyError> {
        let searcher = self.reader.searcher();
        let query = TermQuery::new(
            Term::from_field_text(self.fields.id, id),
            IndexRecordOption::Basic,
        );
        let found = searcher.search(&query, &TopDocs::with_limit(1).order_by_score())?;
        let document = found
            .first()
            .map(|(_, address)| searcher.doc(*address))
            .transpose()?;
        Ok(document.map(|document| self.article(&document)))
    }

    /// Matches any of the words. The query is not parsed as tantivy's syntax, in which `pool: hours` names a field.
    fn query(&self, text: &str) -> BooleanQuery {
        let mut any: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        self.words.clone().token_stream(text).process(&mut |word| {
            for (field, boost) in [(self.fields.title, TITLE_BOOST), (self.fields.body, 1.0)] {
                let term = Term::from_field_text(field, &word.text);
                let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
                any.push((
                    Occur::Should,
                    Box::new(BoostQuery::new(Box::new(query), boost)),
                ));
            }
        });
        BooleanQuery::new(any)
    }

    fn article(&self, document: &TantivyDocument) -> Article {
        let text = |field| {
            document
                .get_first(field)
                .and_then(|value| value.as_str())
                .unwrap_or_default()
                .to_owned()
        };
        Article {
            id: text(self.fields.id),
            title: text(self.fields.title),
            body: text(self.fields.body),
        }
    }
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer(WORDS)
        .set_index_option(IndexRecordOption::WithFreqs);
    let text = TextOptions::default()
        .set_indexing_options(words)
        .set_stored();
    let fields = Fields {
        id: schema.add_text_field("id", STRING | STORED),
        title: schema.add_text_field("title", text.clone()),
        body: schema.add_text_field("body", text),
    };
    (schema.build(), fields)
}

/// Splits texts and queries into words. `Towels` and `towel` are the same word.
fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .filter(StopWordFilter::remove(
            QUESTION_WORDS.split_whitespace().map(str::to_owned),
        ))
        .filter(Stemmer::new(Language::English))
        .build()
}
