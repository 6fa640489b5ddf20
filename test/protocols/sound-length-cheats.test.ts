/**
 * An M4A whose tables of times were all set to 0 counted as a sixth of its sound, because each frame counted as if it had the
 * highest sampling rate. A short text that is spoken held one second, although its sound has two, and a slow speed held no more.
 */
// The bug behind these rows: sound that hides its length.
import t from 'tap'
import { SoundMeter } from '../../lib/protocols/sound/sound.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import * as make from '../support/sound.ts'

const lengthOf = (bytes: Buffer): number => {
  const meter = new SoundMeter()
  meter.feed(bytes)
  return meter.seconds
}

const LC_16_KHZ = Buffer.from([0x14, 0x08])
/** The kind 2, the index 15, 16,000 in 24 bits, and one channel. */
const LC_RATE_IN_FULL = Buffer.from([0x17, 0x80, 0x1f, 0x40, 0x08])
const LC_96_KHZ = Buffer.from([0x10, 0x08, 0, 0, 0])
const S = 64
const samples = (S * 16_000) / 1024

const FILES: [name: string, file: make.Mp4Options, least: number, most: number][] = [
  ['24 kbit/s, honest', { seconds: S, samples, given: [LC_16_KHZ], bytes: S * 3000 }, S - 0.1, S + 0.1],
  ['320 kbit/s, honest', { seconds: S, samples, given: [LC_16_KHZ], bytes: S * 40_000 }, S - 0.1, S + 0.1],
  ['all tables 0', { seconds: S, claimedS: 0, samples, given: [LC_16_KHZ], bytes: S * 3000 }, S * 0.9, S],
  ['all tables tiny', { seconds: S, claimedS: 0.1, samples, given: [LC_16_KHZ], bytes: S * 3000 }, S * 0.9, S],
  ['the rate in full', { seconds: S, claimedS: 0.1, samples, given: [LC_RATE_IN_FULL], bytes: S * 3000 }, S * 0.9, S],
  ['a false rate first', { seconds: S, claimedS: 0.1, samples, given: [LC_96_KHZ, LC_16_KHZ] }, S * 0.9, S],
  ['all tables 0, and no rate', { seconds: S, claimedS: 0, samples, bytes: S * 3000 }, S, S * 400],
]

for (const [name, file, least, most] of FILES)
  t.test(`M4A: ${name}`, async t => {
    for (const moovLast of [false, true]) {
      const seconds = lengthOf(make.mp4({ ...file, moovLast }))
      t.ok(seconds >= least && seconds <= most, `${seconds}, from ${least} to ${most}`)
    }
  })

const SPOKEN: [body: object, seconds: number][] = [
  [{ input: 'a' }, 10],
  [{ input: 'x'.repeat(50) }, 50],
  [{ input: 'x'.repeat(50), speed: 0.5 }, 100],
  [{ input: 'x'.repeat(50), speed: 4 }, 50],
  [{ input: 'x'.repeat(50), speed: null }, 50],
  [{ input: 'a', speed: 0.25 }, 40],
  [{ input: 'a', speed: 1e-300 }, 40],
  [{ input: 'a', speed: 0 }, 40],
  [{ input: 'a', speed: -1 }, 40],
  [{ input: 'a', speed: '1' }, 40],
  [{ input: 'a', speed: { of: 1 } }, 40],
  [{ input: '' }, 0],
]

t.test('the seconds that are held for speech', async t => {
  for (const [said, seconds] of SPOKEN) {
    const scan = protocolRow('speech').body.scan('application/json')
    scan.feed(Buffer.from(JSON.stringify({ model: 'm', ...said })))
    t.equal(scan.end()?.spokenS, seconds, JSON.stringify(said).slice(0, 60))
  }
})
