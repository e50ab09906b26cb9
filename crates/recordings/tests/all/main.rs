//! Are the recordings of other tools read as these tools mean them?

mod odd_captures;
