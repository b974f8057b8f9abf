//! Where the files of a model lie, seen from one URL.
//!
//! Two layouts are common: a hub's repository (`tokenizer.json` at the top, ONNX files in `onnx/`) and everything in
//! one folder. A URL that ends in `.onnx` is the model itself; any other is the top of a repository.

use super::{Precision, invalid};
use crate::Result;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Urls {
    pub(super) model: String,
    pub(super) tokenizer: String,
}

pub(super) fn derive(url: &str, precision: Precision) -> Result<Urls> {
    if url.trim().is_empty() {
        return Err(invalid("the model's url is empty"));
    }
    // What follows the path (a version, a signature) belongs to that one file.
    let path = url.split(['?', '#']).next().unwrap_or_default();
    if path.ends_with(".onnx") {
        let folder = &path[..path.rfind('/').map_or(0, |slash| slash + 1)];
        let top = folder
            .strip_suffix("onnx/")
            .filter(|top| top.is_empty() || top.ends_with('/'));
        let tokenizer = format!("{}tokenizer.json", top.unwrap_or(folder));
        return Ok(Urls {
            model: url.to_owned(),
            tokenizer,
        });
    }
    let file = match precision {
        Precision::F32 => "model.onnx",
        Precision::Int8 => "model_quantized.onnx",
    };
    let top = path.trim_end_matches('/');
    Ok(Urls {
        model: format!("{top}/onnx/{file}"),
        tokenizer: format!("{top}/tokenizer.json"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokenizer_lies_beside_the_model_or_above_its_onnx_folder() {
        for (url, tokenizer) in [
            ("https://h/m/onnx/model.onnx", "https://h/m/tokenizer.json"),
            ("https://h/m/model.onnx?download=1", "https://h/m/tokenizer.json"),
            ("https://h/my-onnx/model.onnx", "https://h/my-onnx/tokenizer.json"),
            ("model.onnx", "tokenizer.json"),
        ] {
            let urls = derive(url, Precision::F32).unwrap();
            assert_eq!((urls.model.as_str(), urls.tokenizer.as_str()), (url, tokenizer));
        }
    }

    #[test]
    fn any_other_url_is_a_repository() {
        let urls = derive("https://h/m/", Precision::Int8).unwrap();
        assert_eq!(urls.model, "https://h/m/onnx/model_quantized.onnx");
        assert_eq!(urls.tokenizer, "https://h/m/tokenizer.json");
        assert_eq!(
            derive("https://h/m", Precision::F32).unwrap().model,
            "https://h/m/onnx/model.onnx"
        );
        assert_eq!(
            derive(" ", Precision::F32).unwrap_err().code(),
            "invalid_argument"
        );
    }
}
