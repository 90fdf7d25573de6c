struct Weather;

impl Weather {
    #[setup]
    fn open(&self) {}
}

fn main() {}
