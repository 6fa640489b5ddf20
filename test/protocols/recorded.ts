/**
 * Answers as each kind of provider sends them, one file for each kind in the folder of this name: recorded, or with the fields that
 * its documentation names. They are cut to what a meter reads. A row is added to a kind by adding it to its file; a kind by adding a
 * file.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { AtKind, InOtherForm } from '../../lib/protocols/protocol.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import type { KindName } from '../../lib/protocols/words/kinds.ts'
import type { UsageWord } from '../../lib/protocols/words/reports.ts'
import type { Json } from './answers-told.ts'

export interface Recorded {
  kind: KindName
  protocol: Protocol
  what: string
  /** `recorded`: the numbers are those of an answer of the provider. `documented`: the fields are those of its pages, at `source`. */
  of: 'recorded' | 'documented'
  source: string
  /** The request, where the kind answers the model in a form of its own. `whole` is then what clients are told of the answer in the file. */
  asked?: { model: string; body: Json }
  whole?: Json
  events?: readonly (Json | string)[]
  /** What is found in it, whole and as a stream: classes of usage that are not 0, and names of tiers. */
  found: Readonly<Record<string, number | string>>
}

const FOLDER = new URL('recorded/', import.meta.url)

export const RECORDED: readonly Recorded[] = readdirSync(FOLDER)
  .sort()
  .flatMap(file => {
    const kind = file.slice(0, -'.json'.length) as KindName
    const rows = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Omit<Recorded, 'kind'>[]
    return rows.map(row => ({
      kind,
      ...row,
      ...(row.asked === undefined ? {} : { whole: told(kind, row, row.asked) }),
    }))
  })

function told(
  kind: KindName,
  { protocol, whole }: Omit<Recorded, 'kind'>,
  { model, body }: NonNullable<Recorded['asked']>,
) {
  const at = protocolRow(protocol).upstream.kinds[kind] as AtKind
  const written = at.otherForm?.(model)?.write(body, model, protocol) as InOtherForm
  const own = written.reader()
  own.feed(Buffer.from(JSON.stringify(whole)))
  return JSON.parse(own.end() ?? '{}') as Json
}

const NAMES = {
  chat: { prompt: 'prompt_tokens', completion: 'completion_tokens' },
  responses: { prompt: 'input_tokens', completion: 'output_tokens' },
} as const

/** A usage in which one word alone has a number. */
export function saying({ protocol, field }: Pick<UsageWord, 'protocol' | 'field'>, value: unknown): Json {
  const usage: Json = { [NAMES[protocol].prompt]: 1000, [NAMES[protocol].completion]: 100 }
  const path = field.split('.')
  let here = usage
  for (const step of path.slice(0, -1)) {
    const inner: Json = {}
    here[step] = step === 'x_details' ? [inner] : inner
    here = inner
  }
  here[path.at(-1) as string] = value
  return usage
}
