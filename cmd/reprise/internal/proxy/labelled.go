package proxy

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// labelled is an upstream's histogram with the label of its name, under which it
// is known only when it is read: the counts go on from table to table.
type labelled struct {
	prometheus.Histogram
	desc     *prometheus.Desc
	upstream string
}

func (l labelled) Desc() *prometheus.Desc { return l.desc }

func (l labelled) Write(to *dto.Metric) error {
	if err := l.Histogram.Write(to); err != nil {
		return err
	}
	name := "upstream"
	to.Label = []*dto.LabelPair{{Name: &name, Value: &l.upstream}}
	return nil
}
