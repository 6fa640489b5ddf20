/** Pictures found in documents, however these are cut into chunks: what passes, what is taken, and what stands in its place. */
import t from 'tap'
import { Base64Reader, EncodedPictures, type PicturePart } from '../../lib/protocols/pictures/encoded.ts'
import { seeded } from '../support/random.ts'

const MEMBERS = { array: 'data', encoded: 'b64_json', link: 'url' }
const LINK = 'https://x.example/files/1'

function partsOf(document: string, cuts: readonly number[]): PicturePart[] {
  const scan = new EncodedPictures(MEMBERS)
  const bytes = Buffer.from(document)
  const parts: PicturePart[] = []
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    // a copy that is spoilt afterwards, so that nothing of an earlier chunk is looked at again
    const chunk = Buffer.from(bytes.subarray(from, cut))
    parts.push(...scan.push(chunk).map(copied))
    chunk.fill(0x21)
    from = cut
  }
  return [...parts, ...scan.flush()]
}

const copied = (part: PicturePart): PicturePart =>
  Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, Buffer.isBuffer(value) ? Buffer.from(value) : value]),
  ) as unknown as PicturePart

/** What the client gets when every picture became a link, or none, and the text of the pictures. */
function told(parts: readonly PicturePart[]): { asIs: string; linked: string; pictures: string[] } {
  const asIs: Buffer[] = []
  const linked: Buffer[] = []
  const pictures: string[] = []
  for (const part of parts) {
    if (part.is === 'bytes') {
      asIs.push(part.bytes)
      linked.push(part.bytes)
    } else if (part.is === 'data') {
      asIs.push(part.raw)
      pictures.push(pictures.pop() + part.text.toString('latin1'))
    } else if (part.is === 'end') {
      asIs.push(Buffer.from('"'))
      linked.push(Buffer.from(JSON.stringify(LINK)))
    } else {
      asIs.push(part.asIs)
      linked.push(part.linked)
      if (part.is === 'begin') pictures.push('')
    }
  }
  return { asIs: Buffer.concat(asIs).toString(), linked: Buffer.concat(linked).toString(), pictures }
}

const PICTURE = Buffer.from('a picture of some bytes+/?').toString('base64')
const ESCAPED = '+\\/AB\\u002f\\u003D'
const LONG = 'x'.repeat(18_000)

/** A document, what becomes of it, and its pictures. */
const TABLE: [what: string, document: string, linked: string, pictures: string[]][] = [
  ['one', `{"created":1,"data":[{"b64_json":"${PICTURE}"}]}`, `{"created":1,"data":[{"url":"${LINK}"}]}`, [PICTURE]],
  [
    'several, with text around them and beside',
    `{ "data" : [ {"revised_prompt":"a \\"b64_json\\": 'x' {[","b64_json" : "AAAA"} , { "b64_json":"BBBB", "n": 1 } ] , "usage":{"data":[{"b64_json":"CCCC"}]}}\n`,
    `{ "data" : [ {"revised_prompt":"a \\"b64_json\\": 'x' {[","url" : "${LINK}"} , { "url":"${LINK}", "n": 1 } ] , "usage":{"data":[{"b64_json":"CCCC"}]}}\n`,
    ['AAAA', 'BBBB'],
  ],
  ['escapes', `{"data":[{"b64_json":"${ESCAPED}"}]}`, `{"data":[{"url":"${LINK}"}]}`, ['+/AB/=']],
  ['a name with escapes', `{"d\\u0061ta":[{"b64\\u005fjson":"AAAA"}]}`, `{"d\\u0061ta":[{"url":"${LINK}"}]}`, ['AAAA']],
  [
    'a link that is null, before',
    '{"data":[{"url":null,"revised_prompt":"x","b64_json":"AAAA"}]}',
    `{"data":[{"b64_json":null,"revised_prompt":"x","url":"${LINK}"}]}`,
    ['AAAA'],
  ],
  [
    'a link that is empty, before and behind',
    '{"data":[{"url":"","b64_json":"AAAA"},{"b64_json":"BBBB","url":"" }]}',
    `{"data":[{"b64_json":"","url":"${LINK}"},{"url":"${LINK}","b64_json":"" }]}`,
    ['AAAA', 'BBBB'],
  ],
  [
    'a link that is null, behind',
    '{"data":[{"b64_json":"AAAA","url": null}]}',
    `{"data":[{"url":"${LINK}","b64_json": null}]}`,
    ['AAAA'],
  ],
  ['both are null', '{"data":[{"url":null,"b64_json":null}]}', '{"data":[{"url":null,"b64_json":null}]}', []],
  [
    'a link of its own',
    '{"data":[{"url":"https://up/1","b64_json":"AAAA"}]}',
    '{"data":[{"url":"https://up/1","b64_json":"AAAA"}]}',
    [],
  ],
  [
    'other places',
    '{"b64_json":"AAAA","data":{"b64_json":"AAAA"}}',
    '{"b64_json":"AAAA","data":{"b64_json":"AAAA"}}',
    [],
  ],
  [
    'an array of arrays',
    '{"data":[[{"b64_json":"AAAA"}],"b64_json"]}',
    '{"data":[[{"b64_json":"AAAA"}],"b64_json"]}',
    [],
  ],
  ['an array', '[{"data":[{"b64_json":"AAAA"}]}]', '[{"data":[{"b64_json":"AAAA"}]}]', []],
  [
    'deeper',
    '{"data":[{"x":{"b64_json":"AAAA"},"y":["b64_json"]}]}',
    '{"data":[{"x":{"b64_json":"AAAA"},"y":["b64_json"]}]}',
    [],
  ],
  [
    'twice in one element',
    '{"data":[{"b64_json":"AAAA","b64_json":"BBBB"}]}',
    `{"data":[{"url":"${LINK}","b64_json":"BBBB"}]}`,
    ['AAAA'],
  ],
  ['a document behind the document', '{}{"data":[{"b64_json":"AAAA"}]}', '{}{"data":[{"b64_json":"AAAA"}]}', []],
  [
    'a name that is too long',
    `{"data":[{"${LONG}":1,"b64_json":"AAAA"}]}`,
    `{"data":[{"${LONG}":1,"url":"${LINK}"}]}`,
    ['AAAA'],
  ],
  ['no JSON', '<html>"b64_json":"AAAA"', '<html>"b64_json":"AAAA"', []],
  ['it ends in a name', '{"data":[{"b64_js', '{"data":[{"b64_js', []],
  ['it ends before the picture', '{"data":[{"url":null,"b64_json": ', '{"data":[{"url":null,"b64_json": ', []],
]

t.test('documents, whole and cut everywhere', async t => {
  const random = seeded(t)
  for (const [what, document, linked, pictures] of TABLE) {
    const { length } = Buffer.from(document)
    const expected = { asIs: document, linked, pictures }
    t.same(told(partsOf(document, [])), expected, what)
    if (length < 1000) {
      t.same(
        told(
          partsOf(
            document,
            Array.from({ length }, (_, i) => i),
          ),
        ),
        expected,
        `${what}, byte by byte`,
      )
      for (let cut = 1; cut < length; cut++) t.same(told(partsOf(document, [cut])), expected, `${what}, cut at ${cut}`)
    }
    for (let i = 0; i < 20; i++) {
      const cuts = Array.from({ length: random.int(1, 9) }, () => random.int(0, length)).sort((a, b) => a - b)
      t.same(told(partsOf(document, cuts)), expected, `${what}, cut at ${cuts}`)
    }
  }
})

t.test('what is held back is bounded: a null that is too far before the picture stays', async t => {
  const document = `{"data":[{"url":null,"x":"${LONG}","b64_json":"AAAA"}]}`
  const cuts = Array.from({ length: 20 }, (_, i) => (i + 1) * 1000).filter(cut => cut < document.length)
  const linked = `{"data":[{"url":null,"x":"${LONG}","url":"${LINK}"}]}`
  t.same(told(partsOf(document, cuts)), { asIs: document, linked, pictures: ['AAAA'] })
})

t.test('a document that ends in a picture, and in an escape of it: nothing is lost', async t => {
  for (const document of ['{"data":[{"b64_json":"AAA', '{"data":[{"b64_json":"AAAA\\u00', '{"data":[{"b64_json":"\\'])
    for (let cut = 0; cut < document.length; cut++)
      t.equal(told(partsOf(document, [cut])).asIs, document, `${document} cut at ${cut}`)
})

t.test('base64 in pieces is decoded only when it encodes to the very same text', async t => {
  const decoded = (text: string, size: number): Buffer | null => {
    const reader = new Base64Reader()
    const bytes: Buffer[] = []
    for (let at = 0; at < text.length; at += size) {
      const before = reader.rest
      const piece = reader.read(Buffer.from(text.slice(at, at + size), 'latin1'))
      if (piece === null) {
        t.equal(reader.rest, before, 'nothing has changed')
        return null
      }
      bytes.push(piece)
    }
    const last = reader.end()
    return last === null ? null : Buffer.concat([...bytes, last])
  }
  const random = seeded(t)
  const bytes = Buffer.from(Array.from({ length: 1000 }, () => random.int(0, 255)))
  for (const length of [0, 1, 2, 3, 4, 5, 999, 1000]) {
    const text = bytes.subarray(0, length).toString('base64')
    for (const size of [1, 2, 3, 4, 5, 7, 64, 5000])
      t.same(decoded(text, size), bytes.subarray(0, length), `${length} bytes in pieces of ${size}`)
  }
  for (const text of [
    'A',
    'AA',
    'AAA',
    'AA=',
    '=',
    '====',
    'AA==AAAA',
    'AAAA====',
    'AR==',
    'A A=',
    'AAA\n',
    'AA-_',
    '\xe9AAA',
    'data:image/png;base64,AAAA',
    'A=AA',
  ])
    for (const size of [1, 3, 4, 100])
      t.equal(decoded(text, size), null, `${JSON.stringify(text)} in pieces of ${size}`)
})
