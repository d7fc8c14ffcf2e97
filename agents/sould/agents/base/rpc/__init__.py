"""JSON-RPC 2.0 over a byte stream: framing, one peer, errors. Knows no method and no product."""
