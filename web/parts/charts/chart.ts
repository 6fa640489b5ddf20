/**
 * What every chart has around it: a caption, one sentence that says what it shows, and its numbers as a table on request.
 * So nobody needs to see the picture.
 */
import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import { button, type Child, div, figcaption, figure, li, p, span, ul } from '../../base/element.ts'
import { type Column, rows } from '../listing.ts'
import { words } from '../../base/words.ts'
import { seriesOf } from './series.ts'

const w = words({
  asTable: ['显示为表格', 'Show as a table'],
  asChart: ['显示为图表', 'Show as a chart'],
})

// only pages with charts need it, so it is not a part of the one style sheet
const sheet = document.createElement('link')
sheet.rel = 'stylesheet'
sheet.href = new URL('../../charts.css', import.meta.url).pathname
document.head.append(sheet)

interface ChartTable<T> {
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string | number
}

interface ChartFrame<T> {
  title: string
  /** One sentence: total, peak, change. */
  sentence: string
  /** Names of the series, in the order of their colours. */
  series?: readonly string[]
  table: ChartTable<T>
}

export interface Chart {
  /** `picture`: for a place of so many pixels. */
  view<T>(frame: ChartFrame<T>, picture: (room: number) => Child): VNode
}

/** A page keeps its chart, so that what the reader chose outlives new data. */
export function chart(): Chart {
  const tabled = signal(false)
  const room = signal(0)
  const place = measured(room)
  const view: Chart['view'] = (frame, picture) =>
    figure(
      { class: 'panel chart' },
      figcaption(
        { class: 'spread' },
        div({}, span({ class: 'strong' }, frame.title), p({ class: 'soft' }, frame.sentence)),
        button(
          { type: 'button', class: 'small', onClick: () => (tabled.value = !tabled.value) },
          tabled.value ? w.asChart() : w.asTable(),
        ),
      ),
      tabled.value
        ? rows({ caption: frame.title, ...frame.table })
        : [
            div(
              { class: 'scroll', tabIndex: 0, role: 'group', 'aria-label': frame.title, ref: place },
              room.value > 0 && picture(room.value),
            ),
            frame.series !== undefined && frame.series.length > 1 && key(frame.series),
          ],
    )
  return { view }
}

/** Follows the width of an element, whose content begins with its newest end in sight. */
function measured(room: Signal<number>): (node: HTMLElement | null) => (() => void) | undefined {
  return node => {
    if (node === null) return undefined
    const toEnd = () => {
      node.scrollLeft = node.scrollWidth
    }
    const observer = new ResizeObserver(() => {
      room.value = node.clientWidth
      requestAnimationFrame(toEnd)
    })
    observer.observe(node)
    return () => observer.disconnect()
  }
}

const key = (series: readonly string[]): VNode =>
  ul(
    { class: 'key' },
    series.map((name, at) => li({ key: name }, span({ class: `dot series-${seriesOf(at)}` }), name)),
  )
