import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { ABLATIONS, ablate } from '../../bench/parts/ablations.ts'

const ROOT = path.join(import.meta.dirname, '../..')

t.test('what a bench leaves out of the gateway still stands in its source, once', async t => {
  for (const ablation of ABLATIONS)
    for (const file of new Set(ablation.edits.map(edit => edit.file))) {
      const source = readFileSync(path.join(ROOT, file), 'utf8')
      t.not(ablate(ablation, file, source), source, `${ablation.name}: ${file}`)
    }
})

t.test('a text that is missing or stands twice is an error, and other files are left alone', async t => {
  const ablation = { name: 'x', edits: [{ file: 'a.ts', from: 'one', to: '' }] }
  t.equal(ablate(ablation, 'a.ts', 'one two'), ' two')
  t.equal(ablate(ablation, 'b.ts', 'two'), 'two')
  for (const source of ['two', 'one one']) t.throws(() => ablate(ablation, 'a.ts', source), /has not once: one/, source)
})
