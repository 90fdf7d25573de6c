//! The generators of the schemas of types.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;

/// Makes the generator for the schemas of arguments.
pub(crate) fn argument_generator() -> SchemaGenerator {
    settings().for_deserialize().into_generator()
}

/// Makes the generator for the schemas of results.
pub(crate) fn result_generator() -> SchemaGenerator {
    settings().for_serialize().into_generator()
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}
