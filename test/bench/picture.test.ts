import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { blockMarks } from '../../bench/report/doc-block.ts'
import { barsSvg, showPicture } from '../../bench/report/picture.ts'

const one = (label: string, value: number) => ({ label, parts: [{ name: '', value }] })
const widths = (svg: string): number[] =>
  [...svg.matchAll(/<rect [^>]*width="([\d.]+)" height="18"/g)].map(([, width]) => Number(width))

t.test('bars are as long as their values, or as the logarithms of them', async t => {
  const [small, large] = widths(barsSvg('x', [one('a', 10), one('b', 40)]))
  t.equal(Math.round((large as number) / (small as number)), 4)
  // 10, 20 and 80 are 1, 2 and 4 steps long
  const steps = widths(barsSvg('x', [one('a', 10), one('b', 20), one('c', 80)], { isLogarithmic: true }))
  t.same(
    steps.map(width => Math.round(width / (steps[0] as number))),
    [1, 2, 4],
  )
})

t.test('the parts of a bar stand one behind the other, and each has its colour in the legend', async t => {
  const svg = barsSvg('x', [
    { label: 'a', parts: [{ name: 'bare', value: 30 }] },
    {
      label: 'b',
      parts: [
        { name: 'bare', value: 30 },
        { name: 'log line', value: 10 },
      ],
    },
  ])
  const rects = [...svg.matchAll(/<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)" height="18" fill="(#\w+)"/g)]
  t.equal(rects.length, 3)
  const [, [, x1, , w1, c1], [, x2, , , c2]] = rects.map(one => [...one]) as [string[], string[], string[]]
  t.equal(Number(x2).toFixed(1), (Number(x1) + Number(w1)).toFixed(1))
  t.not(c1, c2)
  for (const colour of [c1, c2]) t.match(svg, `width="12" height="12" fill="${colour}"`)
  t.match(svg, '<title>log line 10.0</title>')
  t.match(svg, '>40.0</text>', 'the sum stands behind the bar')
})

t.test('a name is text and never markup, and a dark page has its own colours', async t => {
  const svg = barsSvg('<b>', [one('a & "b"', 1)])
  t.notMatch(svg, '<b>')
  t.match(svg, '&#60;b&#62;')
  t.match(svg, 'prefers-color-scheme:dark')
})

t.test('nothing to draw is an error', async t => {
  t.throws(() => barsSvg('x', []), /nothing to draw/)
  t.throws(() => barsSvg('x', [one('a', 0)]), /nothing to draw/)
})

t.test('a picture is shown in each page, by a link from where the page stands', async t => {
  const root = mkdtempSync(path.join(tmpdir(), 'picture-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  const [begin, end] = blockMarks('cost')
  mkdirSync(path.join(root, 'docs'))
  for (const page of ['README.md', 'docs/p.md'])
    writeFileSync(path.join(root, page), `before\n${begin}\nold\n${end}\nafter`)
  showPicture(root, 'cost', '<svg/>', 'the cost', ['README.md', 'docs/p.md'])
  t.equal(readFileSync(path.join(root, 'docs/charts/cost.svg'), 'utf8'), '<svg/>')
  t.equal(
    readFileSync(path.join(root, 'README.md'), 'utf8'),
    `before\n${begin}\n\n![the cost](docs/charts/cost.svg)\n\n${end}\nafter`,
  )
  t.match(readFileSync(path.join(root, 'docs/p.md'), 'utf8'), '![the cost](charts/cost.svg)')
})

t.test('the pages have the blocks that the benches write', async t => {
  const ROOT = path.join(import.meta.dirname, '../..')
  for (const [page, names] of [
    ['docs/performance.md', ['cost-of-a-request', 'cost-by-duty', 'bench', 'peers', 'ablation']],
    ['README.md', ['cost-of-a-request']],
  ] as const)
    for (const name of names)
      for (const mark of blockMarks(name))
        t.equal(readFileSync(path.join(ROOT, page), 'utf8').split(mark).length, 2, mark)
})
