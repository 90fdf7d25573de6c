mod golden;
mod mixing;
mod names;
mod output;
mod request;
mod support;
