//! OpenAI's image generation.

use serde::Serialize;

/// Makes and edits images. All is left to the provider unless told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "image_generation")]
pub struct ImageGeneration {
    /// Whether an image is made or edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ImageAction>,
    /// What stands behind the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// How closely faces and style of input images are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_fidelity: Option<InputFidelity>,
    /// Where an image is edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_image_mask: Option<Mask>,
    /// The image model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How strictly images are moderated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moderation: Option<Moderation>,
    /// 0 to 100, for JPEG and WebP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_compression: Option<u8>,
    /// PNG unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_format: Option<ImageFormat>,
    /// 0 to 3: the unfinished images that are sent while streaming.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_images: Option<u8>,
    /// How much work is put into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<ImageQuality>,
    /// `auto`, or width x height in pixels, such as `1536x1024`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
}

/// Where an image is edited: the transparent places of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// An uploaded file.
    FileId(String),
    /// A `data:` URL.
    ImageUrl(String),
}

/// Declares enums whose variants are sent by their names in lower case.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident),+ })+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "lowercase")]
        #[allow(missing_docs)] // they say it themselves
        pub enum $name { $($variant),+ })+
    };
}

words! {
    /// Whether an image is made or edited.
    ImageAction { Generate, Edit, Auto }
    /// What stands behind an image.
    Background { Transparent, Opaque, Auto }
    /// How closely input images are kept.
    InputFidelity { Low, High }
    /// How strictly images are moderated.
    Moderation { Low, Auto }
    /// The format of an image.
    ImageFormat { Png, Webp, Jpeg, Gif, Svg }
    /// How much work is put into an image. `Xhigh` and `Max` are for the newer models.
    ImageQuality { Low, Medium, High, Xhigh, Max, Auto }
}
