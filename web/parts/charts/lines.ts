/**
 * Lines over time, drawn by uPlot on a canvas: for thousands of points. The library is loaded when the first chart of
 * lines is drawn. The picture is silent for screen readers, which read the sentence and the table around it (chart.ts).
 */
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { div, use } from '../../base/element.ts'
import { locale } from '../../base/words.ts'

export interface Line {
  name: string
  values: readonly (number | null)[]
}

export interface Lines {
  /** Seconds since 1970, ascending; one for every value of a line. */
  times: readonly number[]
  lines: readonly Line[]
  /** A value as text. */
  axis: (value: number) => string
  height?: number
}

const HEIGHT = 240

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

function options({ lines, axis, height = HEIGHT }: Lines, width: number): uPlot.Options {
  const soft = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  const days = new Intl.DateTimeFormat(locale(), { month: 'numeric', day: 'numeric' })
  const hours = new Intl.DateTimeFormat(locale(), { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  const label = (seconds: number, spanSeconds: number) =>
    (spanSeconds > 2 * 86_400 ? days : hours).format(new Date(seconds * 1000))
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false },
    axes: [
      { ...soft, values: (_, splits) => splits.map(at => label(at, (splits.at(-1) ?? 0) - (splits[0] ?? 0))) },
      { ...soft, size: 64, values: (_, splits) => splits.map(axis) },
    ],
    series: [
      {},
      ...lines.map(({ name }, at) => ({
        label: name,
        width: 2,
        stroke: colour(`--series-${at + 1}`),
        spanGaps: false,
      })),
    ],
  }
}

const dataOf = ({ times, lines }: Lines): uPlot.AlignedData =>
  [[...times], ...lines.map(({ values }) => [...values])] as uPlot.AlignedData

function Picture(given: Lines) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  useEffect(() => {
    let ended = false
    const observer = new ResizeObserver(() => plot.current?.setSize(sizeOf(place.current, given)))
    void import('uplot').then(({ default: UPlot }) => {
      const at = place.current
      if (ended || at === null) return
      plot.current = new UPlot(options(given, at.clientWidth), dataOf(given), at)
      observer.observe(at)
    })
    return () => {
      ended = true
      observer.disconnect()
      plot.current?.destroy()
    }
  }, [])
  useEffect(() => plot.current?.setData(dataOf(given)))
  return div({ class: 'lines', ref: place, 'aria-hidden': 'true' })
}

const sizeOf = (at: HTMLElement | null, { height = HEIGHT }: Lines) => ({ width: at?.clientWidth ?? 0, height })

export const lines = (given: Lines) => use(Picture, given)
