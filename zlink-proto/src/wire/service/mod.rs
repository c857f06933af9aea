//! Service records (S-01 to S-81).
