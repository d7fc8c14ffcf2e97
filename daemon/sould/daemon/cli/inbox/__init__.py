"""`sould inbox`: what waits in all projects, told and answered over `_sould/inbox/*`."""
