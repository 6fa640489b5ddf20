/** Makes answers of upstreams, together with what a meter should find in them. */
import { noUsage, type Usage } from '../../../lib/protocols/words/usage.ts'
import { type Random, withSeed } from '../../../test/support/random.ts'
import type { Talking } from '../../../test/support/talking.ts'
import { piece } from './code.ts'
import { DIALECTS } from './dialects.ts'

/** The UTF-8 bytes of text that count as one token when the upstream reports no usage. */
const BYTES_PER_TOKEN = 4.4
/** The characters of one part of a picture. */
const PART = 24_000

export interface Answer {
  bytes: Buffer
  events: number
  /** The usage that the meter should read from the answer; null = the answer reports none. */
  usage: Usage | null
  /** The tokens that the meter should count in the text. */
  counted: number
}

function usageOf(random: Random, protocol: Talking): Usage {
  const cached = protocol !== 'images'
  return {
    ...noUsage(),
    input: random.int(10, 5_000),
    cache_read: cached ? random.int(1, 100_000) : 0,
    cache_write_5m: cached && protocol !== 'generate' ? random.int(1, 2_000) : 0,
    output: random.int(100, 4_000),
    images: cached ? 0 : 1,
  }
}

/** For images, the number of images counts, also when no tokens are reported. */
const unreported = (protocol: Talking): Usage | null => (protocol === 'images' ? { ...noUsage(), images: 1 } : null)

const partOf = (random: Random, protocol: Talking): string =>
  protocol === 'images' ? randomBase64(random, PART) : piece(random)

function randomBase64(random: Random, length: number): string {
  const bytes = Buffer.alloc((length * 3) / 4)
  for (let i = 0; i + 4 <= bytes.length; i += 4) bytes.writeUInt32LE(random.int(0, 2 ** 32 - 1), i)
  return bytes.toString('base64')
}

const countedOf = (protocol: Talking, text: string): number =>
  DIALECTS[protocol].text ? Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) : 0

/**
 * A stream whose deltas have `bytes` or up to one event more. `reports`: it reports its usage, where the protocol can.
 */
export function stream(protocol: Talking, seed: number, bytes: number, reports: boolean): Answer {
  const random = withSeed(seed)
  const dialect = DIALECTS[protocol]
  const usage = usageOf(random, protocol)
  const told = reports ? usage : null
  const deltas: string[] = []
  const texts: string[] = []
  for (let size = 0; size < bytes; ) {
    const text = partOf(random, protocol)
    const event = dialect.delta(text, deltas.length, told)
    texts.push(text)
    deltas.push(event)
    size += Buffer.byteLength(event)
  }
  const text = texts.join('')
  const whole = `${dialect.begin(told)}${deltas.join('')}${dialect.end(text, told)}`
  return {
    bytes: Buffer.from(whole),
    events: whole.split('\n\n').length - 1,
    usage: told ?? unreported(protocol),
    counted: countedOf(protocol, text),
  }
}

/** A whole answer whose text, as JSON, has `bytes` or up to one piece more. */
export function document(protocol: Talking, seed: number, bytes: number): Answer {
  const random = withSeed(seed)
  const usage = usageOf(random, protocol)
  const texts: string[] = []
  for (let size = 0; size < bytes; ) {
    const text = partOf(random, protocol)
    texts.push(text)
    size += Buffer.byteLength(JSON.stringify(text)) - 2
  }
  const text = texts.join('')
  return {
    bytes: Buffer.from(JSON.stringify(DIALECTS[protocol].whole(text, usage))),
    events: 0,
    usage,
    counted: countedOf(protocol, text),
  }
}
