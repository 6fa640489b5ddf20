/**
 * The length of sound by its container. Each container is cut into chunks at random, and has the same length whatever the cuts;
 * then come headers that lie.
 */
import t from 'tap'
import { SoundMeter, wholeSeconds } from '../../lib/protocols/sound/sound.ts'
import { Stamps } from '../../lib/protocols/transcriptions.ts'
import { cut, seeded } from '../support/random.ts'
import * as make from '../support/sound.ts'

const lengthOf = (chunks: readonly Buffer[], bytesPerS?: number): number => {
  const meter = new SoundMeter(bytesPerS)
  for (const chunk of chunks) meter.feed(chunk)
  return meter.seconds
}

const HOUR = 3600
const junk = (bytes: number) => Buffer.alloc(bytes, 'x')

/** What each is to be, to the microsecond. */
const TRUE: [name: string, bytes: Buffer, seconds: number][] = [
  ['WAV', make.wav(2.5), 2.5],
  ['WAV of unknown length', make.wav(2.5, { claimed: 0xffffffff }), 2.5],
  ['WAV of length 0', make.wav(2.5, { claimed: 0 }), 2.5],
  ['WAV that is cut off', make.wav(2.5, { claimed: 32_000 * HOUR }), 2.5],
  [
    'WAV with other chunks',
    make.wav(2, { before: make.chunk('LIST', junk(9000)), behind: make.chunk('id3 ', junk(500)) }),
    2,
  ],
  ['MP3', make.mp3(100), 100 * make.MP3_FRAME_S],
  ['MP3 with a table', make.mp3(100, { table: 'Xing' }), 100 * make.MP3_FRAME_S],
  ['MP3 of constant rate with a table', make.mp3(100, { table: 'Info' }), 100 * make.MP3_FRAME_S],
  ['MP3 with a VBRI table', make.mp3(100, { table: 'VBRI' }), 100 * make.MP3_FRAME_S],
  ['MP3 with a picture', make.mp3(100, { tag: 100_000 }), 100 * make.MP3_FRAME_S],
  ['ADTS', make.adts(90), 90 * make.ADTS_FRAME_S],
  ['AMR', make.amr(60), 1.2],
  ['AMR wide', make.amrWide(60), 1.2],
  ['FLAC', make.flac(50, 50 * 4096), 50 * make.FLAC_FRAME_S],
  ['FLAC of unknown length', make.flac(50, 0), 50 * make.FLAC_FRAME_S],
  ['Ogg Opus', make.oggOpus(500), 10],
  ['Ogg Vorbis', make.oggVorbis(44_100 * 5, 60_000), 5],
  ['M4A', make.mp4({ seconds: 8 }), 8],
  ['M4A, index last', make.mp4({ seconds: 8, moovLast: true }), 8],
  ['M4A, long fields', make.mp4({ seconds: 8, wide: true }), 8],
  ['MP4 in fragments', make.mp4({ seconds: 8, fragments: true }), 8],
  ['film', make.mp4({ seconds: 8, film: true, bytes: 4_000_000 }), 8],
  ['WebM', make.webm(4, 4), 4],
  ['WebM of a browser', make.webm(4, null), 4],
  ['no container', junk(7500), 10],
  ['nothing', Buffer.alloc(0), 0],
]

t.test('the length of each container, however it is cut', async t => {
  const random = seeded(t)
  for (const [name, bytes, seconds] of TRUE) {
    const whole = lengthOf([bytes])
    t.ok(Math.abs(whole - seconds) < 1e-6, `${name}: ${whole}, and is to be ${seconds}`)
    for (let i = 0; i < 5; i++) t.equal(lengthOf(cut(random, bytes)), whole, `${name}, in chunks`)
  }
})

t.test('a header that lies makes nothing free', async t => {
  const rows: [name: string, bytes: Buffer, least: number][] = [
    ['WAV that claims a second', make.wav(60, { claimed: 32_000 }), 60],
    ['WAV that claims a high rate of bytes', make.wav(60, { bytesPerS: 0xffffffff }), 60],
    [
      'WAV of compressed sound that claims one',
      make.wav(60, { tag: 0x55, bytesPerS: 0xffffffff }),
      (60 * 32_000) / 72_000,
    ],
    ['WAV with an hour beside its samples', make.wav(1, { behind: make.chunk('JUNK', junk(7_200_000)) }), 99],
    ['MP3 with an hour in its tag', make.mp3(1, { tag: 7_200_000 }), 99],
    ['FLAC that claims a second', make.flac(100, 16_000), 100 * make.FLAC_FRAME_S],
    ['FLAC whose frames are none', Buffer.concat([make.flac(0, 16_000), junk(3_000_000)]), 4000],
    ['Ogg Opus that claims a second', make.oggOpus(500, 48_000), 9.9],
    ['Ogg Vorbis that claims a second', make.oggVorbis(44_100, 7_200_000), 99],
    ['M4A that claims a second', make.mp4({ seconds: 60, claimedS: 1 }), 30 - 0.02],
    [
      'M4A that claims a second and few samples',
      make.mp4({ seconds: 60, claimedS: 1, samples: 48, bytes: 7_200_000 }),
      100,
    ],
    ['film that claims a second', make.mp4({ seconds: 60, claimedS: 1, film: true }), 30 - 0.02],
    ['WebM that claims a second', make.webm(60, 1), 60],
    ['WebM whose blocks have no time', make.webm(60, 1, false), 60],
    ['an MP3 of bytes that begin no frame', Buffer.concat([make.mp3(1), Buffer.alloc(1_000_000, 0xff)]), 1333],
    ['an MP3 that is no MP3', Buffer.concat([make.mp3(1), junk(75_000)]), 100],
    ['an index without an end', Buffer.concat([make.mp4({ seconds: 1 }).subarray(0, 40), junk(75_000)]), 100],
  ]
  for (const [name, bytes, least] of rows) {
    const seconds = lengthOf([bytes])
    t.ok(seconds >= least && seconds <= 1e9, `${name}: ${seconds}, at least ${least}`)
  }
})

t.test('no container makes its sound longer than its bytes can be', async t => {
  const HOUR_S = 3600
  const rows: [name: string, bytes: Buffer][] = [
    ['FLAC that claims an hour', make.flac(1, 16_000 * HOUR_S)],
    ['Ogg Opus that claims an hour', make.oggOpus(5, 48_000 * HOUR_S)],
    ['Ogg Vorbis that claims an hour', make.oggVorbis(44_100 * HOUR_S, 7200)],
    ['M4A that claims an hour', make.mp4({ seconds: 1, claimedS: HOUR_S })],
    ['WebM that claims an hour', make.webm(1, HOUR_S * 1000)],
  ]
  const lengths = rows.map(([, bytes]) => lengthOf([bytes]))
  for (const [i, [name, bytes]] of rows.entries())
    t.ok((lengths[i] as number) <= bytes.length / 60, `${name}: ${lengths[i]} s in ${bytes.length} bytes`)
  t.ok(
    lengths.some((seconds, i) => seconds === (rows[i]?.[1].length ?? 0) / 60),
    'some would be longer',
  )
})

t.test('nothing that arrives breaks the meter, and what it says is finite', async t => {
  const random = seeded(t)
  for (const [name, bytes] of TRUE)
    for (let i = 0; i < 20 && bytes.length > 0; i++) {
      const broken = Buffer.from(bytes.subarray(0, random.int(1, bytes.length)))
      for (let k = 0; k < 10; k++) broken[random.int(0, Math.min(broken.length, 300) - 1)] = random.int(0, 255)
      const seconds = lengthOf(cut(random, broken, 5000))
      t.ok(seconds >= 0 && seconds <= broken.length / 60, `${name} with faults: ${seconds}`)
    }
})

t.test('plain samples, and whole seconds', async t => {
  t.equal(lengthOf([Buffer.alloc(48_000 * 3)], 48_000), 3)
  t.equal(lengthOf([make.wav(3)], 48_000), 3, 'a container is known all the same')
  const rows: [seconds: number, whole: number][] = [
    [0, 0],
    [0.001, 1],
    [1, 1],
    [1.000000001, 1], // what sums of fractions come to
    [1.01, 2],
  ]
  for (const [seconds, whole] of rows) t.equal(wholeSeconds(seconds), whole)
})

t.test('the last time stamp, however the text is cut', async t => {
  const random = seeded(t)
  const rows: [isJson: boolean, text: string, last: number][] = [
    [true, '{"segments":[{"start":0,"end":3.25,"text":"a"},{"start":3.25,"end": 12.5}],"x":1}', 12.5],
    [true, '{"words":[{"word":"\\"end\\":99","start":1,"end":2}]}', 2],
    [true, '{"text":"end"}', 0],
    [false, '1\n00:00:00,000 --> 01:02:03,500\nHello\n\n', 3723.5],
    [false, 'WEBVTT\n\n00:00.000 --> 00:04.000 align:start\nHi\n', 4],
    [false, 'a --> b', 0],
  ]
  for (const [isJson, text, last] of rows)
    for (let i = 0; i < 10; i++) {
      const stamps = new Stamps(isJson)
      for (const chunk of cut(random, Buffer.from(text), 20)) stamps.feed(chunk.toString('latin1'))
      t.equal(stamps.last, last, text)
    }
})
