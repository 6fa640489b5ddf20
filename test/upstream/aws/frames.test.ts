import t from 'tap'
import { BadFrame, FrameReader, MOST_FRAME_BYTES, MOST_HEADER_BYTES } from '../../../lib/upstream/aws/frames.ts'
import { cut, seeded, text } from '../../support/random.ts'
import { checksum, frameBytes, number } from './frames.ts'

interface Read {
  frames: { headers: Record<string, string>; payload: string }[]
  error: string | null
  isInside: boolean
}

function read(pieces: readonly Buffer[]): Read {
  const reader = new FrameReader()
  const told: Read = { frames: [], error: null, isInside: false }
  try {
    for (const piece of pieces)
      for (const { headers, payload } of reader.push(piece))
        told.frames.push({ headers: Object.fromEntries(headers), payload: payload.toString() })
  } catch (error) {
    if (!(error instanceof BadFrame)) throw error
    told.error = error.message
  }
  return { ...told, isInside: reader.isInside }
}

const JSON_HEADER = { 'content-type': 'application/json' }
const PAYLOAD = "{'foo':'bar'}"

/** The vectors with which AWS tests its own readers. */
const VECTORS: [name: string, hex: string, expected: { headers: object; payload: string } | string][] = [
  ['empty message', '000000100000000005c248eb7d98c8ff', { headers: {}, payload: '' }],
  [
    'payload, no headers',
    '0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936',
    { headers: {}, payload: PAYLOAD },
  ],
  [
    'one text header',
    '0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1',
    { headers: JSON_HEADER, payload: PAYLOAD },
  ],
  [
    'int32 header',
    '0000002d0000001041c424b80a6576656e742d74797065040000a00c7b27666f6f273a27626172277d36f480a0',
    { headers: {}, payload: PAYLOAD },
  ],
  [
    'headers of every type',
    '000000cc000000af0fae64ca0a6576656e742d74797065040000a00c0c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0a626f6f6c2066616c73650109626f6f6c207472756500046279746502cf0862797465206275660600144927' +
      '6d2061206c6974746c6520746561706f74210974696d657374616d70080000000000845fed05696e74313603002a05696e743634050000000002875' +
      '7b20475756964090102030405060708090a0b0c0d0e0f107b27666f6f273a27626172277daba5f10c',
    { headers: JSON_HEADER, payload: PAYLOAD },
  ],
  [
    'corrupted headers',
    '0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b61666f6f273a27626172277d8d9c08b1',
    'the checksum of a frame is wrong',
  ],
  [
    'corrupted length of headers',
    '0000003d0000002107fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1',
    'the checksum of a length is wrong',
  ],
  [
    'corrupted length',
    '0000003e0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1',
    'the checksum of a length is wrong',
  ],
  [
    'corrupted payload',
    '0000001d00000000fd528c5a5b27666f6f273a27626172277dc3653936',
    'the checksum of a frame is wrong',
  ],
]

t.test('the vectors of AWS', async t => {
  for (const [name, hex, expected] of VECTORS) {
    const { frames, error } = read([Buffer.from(hex, 'hex')])
    if (typeof expected === 'string') t.same({ frames, error }, { frames: [], error: expected }, name)
    else t.same({ frames, error }, { frames: [expected], error: null }, name)
  }
})

/** A prelude whose own checksum is right. */
function prelude(length: number, headerBytes: number): Buffer {
  const lengths = Buffer.concat([number(length), number(headerBytes)])
  return Buffer.concat([lengths, number(checksum(lengths))])
}

/** A frame with these bytes as its headers. */
function rawHeaders(bytes: readonly number[]): Buffer {
  const begun = Buffer.concat([prelude(16 + bytes.length, bytes.length), Buffer.from(bytes)])
  return Buffer.concat([begun, number(checksum(begun))])
}

t.test('what is no frame', async t => {
  const rows: [what: string, bytes: Buffer, error: string][] = [
    ['a text', Buffer.from('{"message":"Too many requests"}'), 'the checksum of a length is wrong'],
    ['a frame above the limit', prelude(MOST_FRAME_BYTES + 1, 0), `a frame of ${MOST_FRAME_BYTES + 1} bytes`],
    ['headers above the limit', prelude(1_000_000, MOST_HEADER_BYTES + 1), `${MOST_HEADER_BYTES + 1} bytes of headers`],
    ['a length without room for the checksums', prelude(15, 0), 'a frame that is shorter than its parts'],
    ['headers that are longer than the frame', prelude(100, 85), 'a frame that is shorter than its parts'],
    ['a type that there is none of', rawHeaders([1, 97, 10]), 'a header of the type 10'],
    ['a name that is cut off', rawHeaders([9, 97, 98]), 'a header that is cut off'],
    ['a value that is cut off', rawHeaders([1, 97, 7, 0, 5, 98]), 'a header that is cut off'],
    ['a length of a value that is cut off', rawHeaders([1, 97, 7, 0]), 'a header that is cut off'],
    ['a number that is cut off', rawHeaders([1, 97, 5, 0, 0]), 'a header that is cut off'],
  ]
  const good = frameBytes([['a', 'b']], 'c')
  for (const [what, bytes, error] of rows) {
    t.same(read([bytes]), { frames: [], error, isInside: false }, what)
    const behind = read([Buffer.concat([good, bytes])])
    t.same([behind.frames.length, behind.error], [1, error], `${what}, behind a frame that is well`)
  }
})

t.test('a frame that has begun', async t => {
  const bytes = frameBytes([['a', 'b']], 'payload')
  for (let length = 0; length < bytes.length; length++) {
    const { frames, isInside, error } = read([bytes.subarray(0, length)])
    t.same([frames.length, isInside, error], [0, length > 0, null], `${length} bytes`)
  }
  t.same(read([bytes, bytes.subarray(0, 1)]).isInside, true)
  t.same(read([bytes, bytes]).isInside, false)
})

t.test('however chunks are cut, the frames are the same', async t => {
  const random = seeded(t)
  for (let round = 0; round < 200; round++) {
    const frames = Array.from({ length: random.int(1, 6) }, () => {
      const headers = Array.from({ length: random.int(0, 3) }, (_, i) => [`name${i}`, text(random)] as const)
      return { headers, payload: text(random).repeat(random.int(0, 40)) }
    })
    const bytes = Buffer.concat(frames.map(({ headers, payload }) => frameBytes(headers, payload)))
    const spoilt = random.next() < 0.3
    if (spoilt) bytes.writeUInt8((bytes.readUInt8(bytes.length - 1) + 1) & 255, bytes.length - 1)
    const expected = frames.map(({ headers, payload }) => ({ headers: Object.fromEntries(headers), payload }))
    const found = read(cut(random, bytes, random.pick([1, 3, 20, 400])))
    t.same(found.frames, spoilt ? expected.slice(0, -1) : expected, `round ${round}`)
    t.equal(found.error, spoilt ? 'the checksum of a frame is wrong' : null)
  }
})
