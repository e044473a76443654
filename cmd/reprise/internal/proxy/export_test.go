package proxy

// CloseIdle closes the connections to upstreams that carry nothing.
func (s *Server) CloseIdle() { s.base.CloseIdleConnections() }
