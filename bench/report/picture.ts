/**
 * Draws horizontal bars as SVG, in the colours of the reader's light or dark page. A bar may be made of several parts, which
 * are stacked.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { escaped } from '../../lib/base/html.ts'
import { replaceBlock } from './doc-block.ts'

export interface Bar {
  label: string
  parts: readonly { name: string; value: number }[]
}

const WIDTH = 860
const LABEL = 260
const FIGURE = 90
const ROW = 30
const THICK = 18
const TOP = 44
/** Colours of the parts, told apart by people who see no red or green, on white and on black. */
const COLOURS = ['#4477aa', '#ee6677', '#228833', '#ccbb44', '#66ccee', '#aa3377', '#bbbbbb', '#ee8866', '#77aadd']

const STYLE = `text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:15px;font-weight:600}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}}`

const total = ({ parts }: Bar): number => parts.reduce((sum, { value }) => sum + value, 0)

/**
 * `isLogarithmic`: lengths are logarithms, for values of different orders of magnitude; then a bar has one part. Throws
 * without a bar above 0.
 */
export function barsSvg(title: string, bars: readonly Bar[], { isLogarithmic = false } = {}): string {
  const most = Math.max(...bars.map(total))
  if (!(most > 0)) throw new Error('there is nothing to draw')
  const room = WIDTH - LABEL - FIGURE
  const smallest = Math.min(...bars.map(total).filter(value => value > 0))
  const width = (value: number): number =>
    isLogarithmic
      ? (room * (1 + Math.log2(value / smallest))) / (1 + Math.log2(most / smallest))
      : (room * value) / most
  const names = [...new Set(bars.flatMap(({ parts }) => parts.map(({ name }) => name)))].filter(name => name !== '')
  const colour = (name: string): string => COLOURS[Math.max(0, names.indexOf(name)) % COLOURS.length] as string
  const rows = bars.flatMap((bar, i) => {
    const y = TOP + i * ROW
    let x = LABEL
    const rects = bar.parts.map(({ name, value }) => {
      const w = width(value)
      x += w
      return `<rect x="${(x - w).toFixed(1)}" y="${y}" width="${w.toFixed(1)}" height="${THICK}" fill="${colour(name)}"><title>${escaped(`${name} ${value.toFixed(1)}`.trim())}</title></rect>`
    })
    const text = (at: number, anchor: string, words: string): string =>
      `<text x="${at.toFixed(1)}" y="${y + 14}" text-anchor="${anchor}">${escaped(words)}</text>`
    return [text(LABEL - 8, 'end', bar.label), ...rects, text(x + 6, 'start', total(bar).toFixed(1))]
  })
  const legendY = TOP + bars.length * ROW + 8
  const legend = names.map((name, i) => {
    const [x, y] = [LABEL + (i % 2) * 280, legendY + Math.floor(i / 2) * 22]
    return `<rect x="${x}" y="${y}" width="12" height="12" fill="${colour(name)}"/><text x="${x + 18}" y="${y + 11}">${escaped(name)}</text>`
  })
  const height = legendY + Math.ceil(names.length / 2) * 22 + 8
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">
<style>${STYLE}</style>
<text class="title" x="12" y="24">${escaped(title)}</text>
${[...rows, ...legend].join('\n')}
</svg>
`
}

/**
 * Writes a picture into the folder `docs/charts` of a checkout, and shows it in each of `pages`, where they have a block of its
 * name.
 */
export function showPicture(root: string, name: string, svg: string, alt: string, pages: readonly string[]): void {
  const file = path.join(root, 'docs/charts', `${name}.svg`)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, svg)
  for (const page of pages) {
    const at = path.join(root, page)
    const link = path.relative(path.dirname(at), file)
    writeFileSync(at, replaceBlock(readFileSync(at, 'utf8'), name, `![${alt}](${link})`))
  }
}
