package proxyconf

import "github.com/reprise-go/reprise/cmd/reprise/internal/conf"

// MaxFileBytes bounds a file.
const MaxFileBytes = conf.MaxFileBytes

// Faults is what is wrong with a file: an error for each key, and each says where.
type Faults = conf.Faults

// kind is the proxy's files.
var kind = conf.Kind{
	Name: "config", Key: "upstreams", Empty: "a list of upstreams",
	Share: "defaults for what upstreams share", Regular: ", which can be read again on SIGHUP",
}

// Load reads a regular file. Its error names the file and, where there is one, the
// line and the key; what is wrong with keys is Faults.
func Load(name string) (c Config, err error) {
	return checked(&c, kind.Load(name, c.read))
}

// Parse reads the text of a file, whose name says what format it is in.
func Parse(name string, text []byte) (c Config, err error) {
	return checked(&c, kind.Parse(name, text, c.read))
}

// checked is nothing if there was an error.
func checked(c *Config, err error) (Config, error) {
	if err != nil {
		return Config{}, err
	}
	return *c, nil
}
