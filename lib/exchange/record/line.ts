/**
 * The line of the log that each request has. It is put together by hand, of few pieces: what the lines of a key, or of an address of the
 * API, have in common is made once, as one flat text, because the pieces of a text are all walked over when it is written.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { logLine, quoted, quotedFromClient } from '../../base/log.ts'
import { formatMicro } from '../../base/money.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { UsageRow } from '../../terms/usage-row.ts'
import type { Exchange, ListenerName } from './exchange.ts'
import { addressOf } from './request.ts'
import type { Services } from './services.ts'

/** What stands between the id and the status. */
interface Asked {
  method: string
  protocol: Protocol | null
  /** Up to the model. */
  text: string
  /** With a model and what follows it, by the models of the catalogue. */
  readonly ofModels: Map<string, string>
}

/** By the listener and the path, of endpoints that have one path. */
const askedAt: Readonly<Record<ListenerName, Map<string, Asked>>> = { main: new Map(), direct: new Map() }
/** Texts that are kept under names, which may change while the process runs. */
const MOST_TEXTS = 1000

function kept(texts: Map<string, string>, name: string, text: string): string {
  if (texts.size >= MOST_TEXTS) texts.clear()
  texts.set(name, text)
  return text
}

const withModel = (text: string, model: string): string => [text, quotedFromClient(model), ',"status":'].join('')

function asked({ listener, method, path, protocol, target, model, world }: Exchange): string {
  const ofPaths = askedAt[listener]
  let known = ofPaths.get(path)
  if (known?.method !== method || known.protocol !== protocol) {
    const ofProtocol = protocol === null ? 'null' : `"${protocol}"`
    const parts = ['","listener":"', listener, '","method":', quoted(method), ',"path":', quotedFromClient(path)]
    const text = [...parts, ',"protocol":', ofProtocol, ',"model":'].join('')
    if (target === null || target.model !== null) return withModel(text, model)
    known = { method, protocol, text, ofModels: new Map() }
    ofPaths.set(path, known)
  }
  const { text, ofModels } = known
  const ofModel = ofModels.get(model)
  if (ofModel !== undefined) return ofModel
  const whole = withModel(text, model)
  return model === '' || world.modelNames.has(model) ? kept(ofModels, model, whole) : whole
}

/** What stands between the attempts and the charge, by the channel, of answers that came to their end and have a report. */
const ofChannels = new Map<string, string>()

function answered({ channel, end, basis }: UsageRow): string {
  const isUsual = end === 'completed' && basis === 'reported'
  const known = isUsual ? ofChannels.get(channel) : undefined
  if (known !== undefined) return known
  const text = [',"channel":', quoted(channel), ',"end":"', end, '","basis":"', basis, '","charge":"'].join('')
  return isUsual ? kept(ofChannels, channel, text) : text
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

export function log(x: Exchange, { log }: Services, nowMs: number, totalMs: number): void {
  const { row, entry, refusal } = x
  let line = `"id":"${x.id}${asked(x)}${x.status}`
  line += refusal === null ? ',"refusal":null,"address":' : `,"refusal":"${refusal}","address":`
  line += quoted(addressOf(x))
  if (entry !== null) line += ofKey(entry)
  line += `,"attempts":${x.attempts}`
  if (row !== null) {
    line += `${answered(row)}${formatMicro(row.charge)}","input":${row.input},"output":${row.output}`
    line += `,"first_byte_ms":${row.firstByteMs}`
  }
  logLine(log, nowMs, `${line},"duration_ms":${Math.round(totalMs)}`)
}
