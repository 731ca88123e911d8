"""The second factor: enrolment, challenges, codes, trusted devices."""
