import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { LogOutput } from '../../lib/base/log.ts'

const MODULE = new URL('../../lib/base/log.ts', import.meta.url).href
const program = (code: string) => ['--input-type=module', '-e', `import { LogOutput } from '${MODULE}'\n${code}`]

t.test('lines come in their order, after a moment and when there are many', async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'log-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'log')
  const output = new LogOutput(openSync(file, 'a'))
  let expected = ''
  const write = (line: string) => {
    expected += line
    output.write(line)
  }
  write('first\n')
  while (readFileSync(file, 'utf8') !== expected) await new Promise(resolve => setTimeout(resolve, 5))
  for (let i = 0; i < 5000; i++) write(`line ${i} äöü\n`)
  while (readFileSync(file, 'utf8') !== expected) await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(readFileSync(file, 'utf8'), expected)
})

t.test('what is handed on is out before anything else happens', async t => {
  const child = spawn(
    process.execPath,
    program(`import { readSync } from 'node:fs'
      const output = new LogOutput()
      output.write('ready\\n')
      output.handOn()
      readSync(0, Buffer.alloc(1))`),
  )
  t.teardown(() => child.kill())
  const [line] = await once(child.stdout, 'data') // it goes on only when it is told to
  t.equal(String(line), 'ready\n')
  child.stdin.end('x')
  await once(child, 'exit')
})

t.test('what is written last comes too, however the process ends', async t => {
  for (const end of ['', 'process.exit(3)', 'throw new Error("broken")', 'process.on("beforeExit", () => {})']) {
    const { stdout } = spawnSync(process.execPath, program(`new LogOutput().write('last\\n')\n${end}`))
    t.equal(stdout.toString(), 'last\n', end)
  }
})

t.test('nobody reads: the overflow is bounded in memory, and what is missing is told when somebody does', async t => {
  const child = spawn(
    process.execPath,
    program(`
      const output = new LogOutput(1, 1 << 20)
      const line = 'x'.repeat(999) + '\\n'
      let written = 0
      const timer = setInterval(() => {
        for (let i = 0; i < 100; i++) output.write(line)
        if ((written += 100) < 5000) return
        clearInterval(timer)
        process.stderr.write('full')
        process.stdin.once('data', () => {
          let later = 0
          setInterval(() => output.write('later ' + ++later + '\\n'), 20)
        })
      }, 1)`),
  )
  t.teardown(() => child.kill())
  await once(child.stderr, 'data')
  child.stdin.write('go')
  let text = ''
  let [missing, there, lost] = [0, 0, 0]
  for await (const chunk of child.stdout) {
    text += chunk
    const lines = text.split('\n').slice(0, -1)
    const told = lines.filter(line => line.includes('dropped'))
    missing = told.reduce((sum, line) => sum + (JSON.parse(line) as { lines: number }).lines, 0)
    there = lines.filter(line => line.startsWith('xxx')).length
    // of the lines that come later some may be missing, too, where the reader is slow
    const later = lines.slice(0, lines.indexOf(told.at(-1) ?? '') + 1).filter(line => line.startsWith('later'))
    lost = Number(later.at(-1)?.split(' ')[1] ?? 0) - later.length
    if (missing > 0 && missing + there >= 5000 + lost) break
  }
  t.equal(missing + there, 5000 + lost)
  t.ok(missing > 1000 && there > 1000, `${missing} missing, ${there} there`)
})
