/**
 * The line of the log that each request has. It is put together by hand, of few pieces: what the lines of a key, or of an address of the
 * API, have in common is made once, as one flat text, because the pieces of a text are all walked over when it is written.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { logLine, quoted, quotedFromClient } from '../../base/log.ts'
import { formatMicro } from '../../base/money.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { Exchange, ListenerName } from './exchange.ts'
import { addressOf } from './request.ts'
import type { Services } from './services.ts'

/** What stands between the id and the model. */
interface Asked {
  listener: ListenerName
  method: string
  protocol: Protocol | null
  text: string
}

/** By the path, of endpoints that have one path. */
const askedAt = new Map<string, Asked>()

function asked({ listener, method, path, protocol, target }: Exchange): string {
  const known = askedAt.get(path)
  if (known?.listener === listener && known.method === method && known.protocol === protocol) return known.text
  const ofProtocol = protocol === null ? 'null' : `"${protocol}"`
  const parts = ['","listener":"', listener, '","method":', quoted(method), ',"path":', quotedFromClient(path)]
  const text = [...parts, ',"protocol":', ofProtocol, ',"model":'].join('')
  if (target !== null && target.model === null) askedAt.set(path, { listener, method, protocol, text })
  return text
}

const ofKeys = new WeakMap<KeyEntry, string>()

function ofKey(entry: KeyEntry): string {
  const known = ofKeys.get(entry)
  if (known !== undefined) return known
  const { account, key } = entry
  const ofAccount = [',"account":', account.id, ',"account_name":', quoted(account.name)]
  const text = [...ofAccount, ',"key":', key.id, ',"key_name":', quoted(key.name)].join('')
  ofKeys.set(entry, text)
  return text
}

export function log(x: Exchange, { log, clock }: Services, totalMs: number): void {
  const { row, entry, refusal } = x
  let line = `"id":"${x.id}${asked(x)}${quotedFromClient(x.model)},"status":${x.status}`
  line += refusal === null ? ',"refusal":null' : `,"refusal":"${refusal}"`
  line += `,"address":${quoted(addressOf(x))}`
  if (entry !== null) line += ofKey(entry)
  line += `,"attempts":${x.attempts}`
  if (row !== null) {
    line += `,"channel":${quoted(row.channel)},"end":"${row.end}","basis":"${row.basis}","charge":"${formatMicro(row.charge)}"`
    line += `,"input":${row.input},"output":${row.output},"first_byte_ms":${row.firstByteMs}`
  }
  logLine(log, clock.now(), `${line},"duration_ms":${Math.round(totalMs)}`)
}
