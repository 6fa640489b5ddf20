import t from 'tap'
import { prefersEnglish } from '../../lib/base/language.ts'

t.test('English only when it is wanted most', async t => {
  const rows: [string | undefined, boolean][] = [
    ['en', true],
    ['en-US', true],
    ['en-US,en;q=0.9', true],
    ['EN', true],
    ['en;q=0.5, zh;q=0.4', true],
    [undefined, false],
    ['', false],
    ['*', false],
    ['zh-CN', false],
    ['zh;q=1, en;q=0.1', false],
    ['ent', false],
    ['zh, en', false],
    ['en;q=0', false],
  ]
  for (const [header, want] of rows) t.equal(prefersEnglish(header), want, String(header))
})
