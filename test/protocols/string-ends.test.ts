/** Where JSON strings end: a search of bytes and one of their text find the same, however a string is cut into chunks. */
import t from 'tap'
import { StringEnd } from '../../lib/protocols/json/ends.ts'
import { seeded } from '../support/random.ts'

const ESCAPES = ['\\"', '\\\\', '\\n', '\\\\\\"']

t.test('escaped quotes, rare and many, in chunks of any size: bytes and text agree on the end', async t => {
  const random = seeded(t)
  for (let i = 0; i < 3_000; i++) {
    const escapes = random.int(1, 40)
    let inside = ''
    while (inside.length < random.int(0, 400))
      inside += random.int(1, escapes) === 1 ? ESCAPES[random.int(0, ESCAPES.length - 1)] : 'x'
    const bytes = Buffer.from(`${inside}","y":"z"`)
    const [byBytes, byText] = [new StringEnd(), new StringEnd()]
    let end = -1
    let at = 0
    for (const most = random.int(1, 300); end < 0; ) {
      const chunk = bytes.subarray(at, at + random.int(1, most))
      end = byBytes.find(chunk, '', 0)
      if (end !== byText.find(chunk, chunk.toString('latin1'), 0)) return t.fail(`another end of ${inside}`)
      at += end < 0 ? chunk.length : end
    }
    if (at !== inside.length + 1) return t.fail(`${at} is not the end of ${inside}`)
  }
  t.pass('3,000 strings')
})
