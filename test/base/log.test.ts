import t from 'tap'
import { beginLine, createLogger, endLine } from '../../lib/base/log.ts'

t.test('a line is a JSON object with the time in UTC', async t => {
  const lines: string[] = []
  const log = createLogger('info', { write: (line: string) => void lines.push(line) })
  log.warn({ id: 'r1', text: 'two\nlines' }, 'something')
  const line = beginLine(log, Date.UTC(2026, 0, 2, 3, 4, 5, 6))
  line?.raw('"id":"r2","name":"模é"')
  endLine(log)
  t.equal(lines.length, 2)
  for (const line of lines) t.match(line, /^[^\n]*\n$/, 'one line each')
  const [first, second] = lines.map(line => JSON.parse(line) as Record<string, unknown>)
  t.match(first, { level: 'warn', msg: 'something', id: 'r1', text: 'two\nlines' })
  t.match(first?.['time'], /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  t.same(second, { level: 'info', time: '2026-01-02T03:04:05.006Z', id: 'r2', name: '模é', msg: 'request' })
})

t.test('a level above info has no lines of requests', async t => {
  t.equal(beginLine(createLogger('warn', { write() {} }), 0), null)
})
