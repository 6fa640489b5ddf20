/**
 * A transcription without a file was admitted, and held for no second of sound. An upstream that fetches sound by a name of its
 * own would have heard hours of it. And where a stream is charged by seconds and by tokens, the money held for the seconds paid
 * for tokens too, so that a hold grew too late.
 */
// The bug behind these rows: sound that was not sent.
import t from 'tap'
import { Growth } from '../../lib/exchange/relay/growth.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { request, tariff } from './support.ts'

const TYPE = 'multipart/form-data; boundary=b'
const part = (head: string, value: string) => `--b\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`
const MODEL = part('name="model"', 'm')
const FILE = part('name="file"; filename="a.mp3"', 'abc')
const URL = 'https://example.com/three-hours.mp3'

const FORMS: [string, string, string | null][] = [
  ['a file', MODEL + FILE, null],
  ['no file', MODEL, 'file'],
  ['an address that nobody knows', MODEL + part('name="where_it_is"', URL), 'file'],
  ['a file and an address', MODEL + FILE + part('name="url"', URL), 'url'],
  ['a file and an address in a cloud', MODEL + FILE + part('name="cloud_storage_url"', URL), 'cloud_storage_url'],
  ['a file and the address of a page', MODEL + FILE + part('name="source_url"', URL), 'source_url'],
]

for (const [what, parts, invalid] of FORMS)
  t.test(what, async t => {
    const scan = protocolRow('transcriptions').body.scan(TYPE)
    scan.feed(Buffer.from(`${parts}--b--\r\n`))
    t.equal(scan.end()?.invalid, invalid)
  })

t.test('what is held for seconds pays for no token', t => {
  const outputCap = 16
  const seconds = 100
  const price = { input: 1_000_000, output: 1_000_000, second: 50 }
  const asked = request({ protocol: 'transcriptions', maxOutput: 1_000, seconds, outputCap })
  const answerHold = tariff(price).answerHold(asked)
  let held: number = answerHold.held
  const grow = (_hold: object, amount: number) => (held += amount) > 0
  const x = { answerHold, coveredOutput: outputCap } as never
  const growth = new Growth(x, { ledger: { grow } } as never, {} as never, () => {})
  for (const tokens of [16, 100, 1_000]) {
    t.ok(growth.covers(tokens, 0, 0))
    t.ok(held >= tokens + seconds * 50, `${tokens} tokens: ${held}`)
  }
  t.end()
})
