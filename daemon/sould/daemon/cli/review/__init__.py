"""`sould review`: what agents changed, listed, shown and decided over `_sould/review/*`. Has no opinion on changes of its own."""
