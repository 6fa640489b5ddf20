/**
 * The recipe "Add a store statement", step 4, of CONTRIBUTING.md, followed in a copy of the tree: a new field of the usage row is a line
 * or a few in each of four files. The copy passes the compiler, and the field goes from a request through journal and store to the admin API.
 */
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { KEY, startGateway } from '../support/gateway.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

/** The lines that the recipe adds: behind which text of which file. */
const LINES: [file: string, behind: string, line: string][] = [
  [
    'lib/terms/usage-row.ts',
    '  hiddenRatio: number | null\n',
    '  /** How many letters the name of the model has. */\n  letters: number\n',
  ],
  ['lib/store/usage/rows.ts', "  hiddenRatio: ['hidden_ratio', INT_OR_NULL],\n", "  letters: ['letters', COUNT],\n"],
  ['lib/exchange/relay/charge.ts', '      hiddenRatio: used.hiddenRatio,\n', '      letters: x.model.length,\n'],
  [
    'lib/operations/usage/columns.ts',
    "  open('status', both('状态码', 'Status'), z.int(), row => row.status),\n",
    "  open('letters', both('字母', 'Letters'), wholeCount, row => row.letters),\n",
  ],
]
/** Its value in the row of an attempt that is not charged, which is easily forgotten. */
const LAST = ['lib/exchange/relay/charge.ts', '  upstreamKey: null,\n', '  letters: 0,\n'] as const

t.test('a field of the usage row is a line or a few in each of four files', async t => {
  const folder = t.testdir({})
  for (const name of ['lib', 'web', 'tools', 'bin', 'package.json', 'tsconfig.json'])
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true })
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  const add = ([file, behind, line]: readonly [string, string, string]) => {
    const text = readFileSync(path.join(folder, file), 'utf8')
    t.equal(text.split(behind).length, 2, `${file} has ${behind.trim()} once`)
    writeFileSync(path.join(folder, file), text.replace(behind, behind + line))
  }
  for (const row of LINES) add(row)
  t.equal(new Set(LINES.map(([file]) => file)).size, 4)
  const compiled = {
    extends: './tsconfig.json',
    include: ['lib'],
    compilerOptions: { incremental: false, tsBuildInfoFile: null },
  }
  writeFileSync(path.join(folder, 'lib.json'), JSON.stringify(compiled))
  const compile = () =>
    run(process.execPath, [path.join(ROOT, 'node_modules/.bin/tsc'), '--noEmit', '-p', 'lib.json'], { cwd: folder })
  const { stdout } = await compile().catch((refused: { stdout: string }) => refused)
  t.match(stdout, /charge\.ts.*'letters' is missing/, 'the compiler asks for its value in the row of an attempt')
  add(LAST)
  await t.resolves(compile(), 'the compiler asks for no more')

  const gateway = await startGateway({ bin: path.join(folder, 'bin/gateway') })
  t.teardown(() => gateway.stop())
  const answer = await fetch(`${gateway.main}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'beta-4.7', messages: [{ role: 'user', content: 'hello' }] }),
  })
  t.equal(answer.status, 200)
  const [row] = await gateway.usage('rich', 1)
  t.match(row, { model: 'beta-4.7', letters: 'beta-4.7'.length })
})
