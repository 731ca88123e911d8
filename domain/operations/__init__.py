"""Operations of administrators on the emails and the signing keys of the service."""
