/**
 * Stacked bars as SVG: spend by day and model, say. Each bar that has a height can be reached with the keyboard and says its
 * numbers. The first three series differ in their pattern as well as in colour.
 */
import type { VNode } from 'preact'
import { g, line, path, rect, svg, svgPattern, svgText, svgTitle } from '../../base/element.ts'
import { seriesOf } from './series.ts'

export interface Bar {
  /** Below the bar, when there is room. */
  label: string
  /** What the bar says when it is pointed at or focused: a sentence with its numbers. */
  sentence: string
  /** One value a series. */
  values: readonly number[]
}

interface Bars {
  bars: readonly Bar[]
  /** How many pixels are there. The picture is as wide, or wider where its bars would be too thin. */
  room: number
  /** What the chart shows, for screen readers. */
  name: string
  /** A value of the axis as text. */
  axis: (value: number) => string
}

const HEIGHT = 260
const LEFT = 64
/** Half of a label stands beyond the middle of the last bar. */
const RIGHT = 20
/** Thinner bars cannot be told apart, or hit with a finger. */
const THINNEST = 7
const BOTTOM = 28
const TOP = 12
const STEPS = 4
/** Labels need about this much room each: at least, and for each letter. */
const LABEL = 62
const LETTER = 7.5

/** The next number above, of the form 1, 2 or 5 times a power of ten, so that the steps of the axis are round. */
export function niceTop(most: number): number {
  if (most <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(most / STEPS))
  const step = [1, 2, 2.5, 5, 10].map(factor => factor * power).find(size => size * STEPS >= most) ?? 10 * power
  return step * STEPS
}

export function stackedBars({ bars, room, name, axis }: Bars): VNode {
  const width = Math.max(room, LEFT + RIGHT + THINNEST * bars.length)
  const top = niceTop(Math.max(0, ...bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0))))
  const inner = HEIGHT - BOTTOM - TOP
  const y = (value: number) => TOP + inner - (value / top) * inner
  const slot = (width - LEFT - RIGHT) / Math.max(1, bars.length)
  const label = Math.max(LABEL, ...bars.map(({ label }) => label.length * LETTER))
  const every = Math.max(1, Math.ceil(label / slot))
  const ticks = Array.from({ length: STEPS + 1 }, (_, at) => (top / STEPS) * at)
  return svg(
    { class: 'bars', width, height: HEIGHT, role: 'group', 'aria-label': name },
    patterns(),
    ticks.map(tick =>
      g(
        { key: tick, 'aria-hidden': 'true' },
        line({ class: 'rule', x1: LEFT, x2: width, y1: y(tick), y2: y(tick) }),
        svgText({ class: 'tick', x: LEFT - 8, y: y(tick) + 4, 'text-anchor': 'end' }, axis(tick)),
      ),
    ),
    bars.map((bar, at) => {
      const x = LEFT + slot * at
      return g(
        bar.values.some(value => value > 0)
          ? { key: at, class: 'bar-slot', tabIndex: 0, role: 'img', 'aria-label': bar.sentence }
          : { key: at },
        svgTitle({}, bar.sentence),
        rect({ class: 'hit', x, y: TOP, width: slot, height: inner }),
        stack(bar.values, x + slot * 0.15, slot * 0.7, y),
        // counted from the newest, which so always has one
        (bars.length - 1 - at) % every === 0 &&
          svgText(
            { class: 'tick', x: x + slot / 2, y: HEIGHT - 8, 'text-anchor': 'middle', 'aria-hidden': 'true' },
            bar.label,
          ),
      )
    }),
  )
}

function stack(values: readonly number[], x: number, width: number, y: (value: number) => number): VNode[] {
  let below = 0
  return values.flatMap((value, at) => {
    if (value <= 0) return []
    const [from, to] = [y(below), y(below + value)]
    below += value
    const shape = { x, y: to, width, height: Math.max(1, from - to) }
    const number = seriesOf(at)
    return [
      rect({ key: at, class: `series-${number}`, ...shape }),
      ...(PATTERNED.includes(number)
        ? [rect({ key: `${at} pattern`, fill: `url(#pattern-${number})`, ...shape })]
        : []),
    ]
  })
}

/** The first series is plain; these two are told from it without colour. */
const PATTERNED = [2, 3]

const patterns = (): VNode =>
  g(
    { 'aria-hidden': 'true' },
    svgPattern(
      { id: 'pattern-2', width: 6, height: 6, patternUnits: 'userSpaceOnUse' },
      path({ class: 'hatch', d: 'M0 6 6 0' }),
    ),
    svgPattern(
      { id: 'pattern-3', width: 5, height: 5, patternUnits: 'userSpaceOnUse' },
      path({ class: 'hatch', d: 'M1 1h1v1h-1z' }),
    ),
  )
