/** `serve` is run past the reader of all commands' options, and says what it would say there. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { isPlainServe } from '../../lib/cli/serve.ts'

const ROWS: [args: string[], plain: boolean][] = [
  [['serve'], true],
  [['serve', '--config', 'a.yaml'], true],
  [['serve', '--config'], false],
  [['serve', '--config', '--help'], false],
  [['serve', '--config=a.yaml'], false],
  [['serve', '--help'], false],
  [['serve', '--config', 'a.yaml', 'more'], false],
  [['serve', 'a.yaml', 'b.yaml'], false],
  [['check', '--config', 'a.yaml'], false],
  [['help', 'serve'], false],
  [[], false],
]
for (const [args, plain] of ROWS) t.equal(isPlainServe(args), plain, args.join(' '))

const BIN = path.resolve(import.meta.dirname, '../../bin/gateway')

t.test('both ways fail alike', async t => {
  const dir = t.testdir({ 'gateway.yaml': '' })
  const fails = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(BIN, args, {
      cwd: dir,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    })
    return { status, stdout, stderr }
  }
  const file = path.join(dir, 'gateway.yaml')
  const missing = path.join(dir, 'missing.yaml')
  for (const [config, text, says] of [
    [missing, null, /missing\.yaml/],
    [file, 'store: 7\n', /gateway\.yaml.*store/s],
    [file, `store: sqlite:${dir}/gateway.db\n`, /admin_token: expected a token of 8 characters/],
  ] as const) {
    if (text !== null) writeFileSync(file, text)
    const plain = fails('serve', '--config', config)
    t.match(plain, { status: 1, stdout: '', stderr: says })
    t.same(plain, fails('serve', `--config=${config}`))
  }
  t.match(fails('serve', '--confg', file), { status: 2, stderr: /unknown option '--confg'/ })
})
