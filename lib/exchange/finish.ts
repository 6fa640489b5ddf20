/**
 * Ends an exchange. It runs exactly once for each one, however it went: it gives back the money, the memory and the places that
 * the exchange still has, counts the metrics and writes one log line. An error in here is logged, and disturbs no other
 * exchange.
 */
import type { KeyEntry } from '../access/keys.ts'
import { formatMicro } from '../base/money.ts'
import { logLine, quoted, quotedFromClient } from '../terms/log.ts'
import { dropBody } from './body-memory.ts'
import type { Exchange } from './exchange.ts'
import { addressOf } from './request.ts'
import type { Services } from './services.ts'
import { CLIENT_CLOSED } from './verdict.ts'

export function finish(x: Exchange, services: Services): void {
  if (x.finished) return
  x.finished = true
  try {
    end(x, services)
  } catch (error) {
    services.log.error({ id: x.id, err: error }, 'exchange failed to finish')
  }
}

function end(x: Exchange, services: Services): void {
  services.openCount--
  if (x.status === 0) x.status = CLIENT_CLOSED
  giveBack(x, services)
  if (x.row !== null && x.entry !== null) services.keyUses.note(x.entry.key.id, addressOf(x))
  if (x.refusal !== null && x.entry !== null && x.attempts === 0) services.refusals.note(x, x.entry, x.refusal)
  const totalMs = services.clock.monotonic() - x.startedMs
  count(x, services, totalMs)
  log(x, services, totalMs)
}

/** Gives back everything that the stages have taken for the exchange. */
export function giveBack(x: Exchange, services: Services): void {
  x.relay?.release()
  dropBody(x, services.buffered)
  if (x.hold !== null && !x.hold.resolved) services.ledger.void(x.hold)
  giveRightBack(x, services)
  if (x.entered && x.entry !== null) services.concurrency.leave(x.entry.account.id)
  if (x.relay === null) x.claim?.release() // chosen and never asked
}

/** Its account may have another request open that is not covered. */
export function giveRightBack(x: Exchange, { uncovered }: Services): void {
  if (!x.uncovered) return
  x.uncovered = false
  uncovered.give((x.entry as KeyEntry).account.id, x.id)
}

function count(x: Exchange, { metrics }: Services, totalMs: number): void {
  const protocol = x.protocol ?? 'none'
  metrics.inflight(protocol, -1)
  metrics.request(protocol, x.status, totalMs / 1000)
  metrics.overhead((totalMs - x.upstreamMs) / 1000)
  if (x.refusal !== null) metrics.refusal(x.refusal)
  const { row } = x
  if (row === null) return
  metrics.settlement(x.world.modelNames.has(row.model) ? row.model : 'other', row)
  if (row.firstByteMs !== null) metrics.firstByte(row.protocol, row.firstByteMs / 1000)
}

function log(x: Exchange, { log, clock }: Services, totalMs: number): void {
  const { row, entry } = x
  let line = `"id":"${x.id}","listener":"${x.listener}","method":${quoted(x.method)},"path":${quotedFromClient(x.path)}`
  line += `,"protocol":${x.protocol === null ? 'null' : `"${x.protocol}"`},"model":${quotedFromClient(x.model)},"status":${x.status}`
  line += `,"refusal":${x.refusal === null ? 'null' : `"${x.refusal}"`}`
  line += `,"address":${quoted(addressOf(x))}`
  if (entry !== null) {
    const { account, key } = entry
    line += `,"account":${account.id},"account_name":${quoted(account.name)},"key":${key.id},"key_name":${quoted(key.name)}`
  }
  line += `,"attempts":${x.attempts}`
  if (row !== null) {
    line += `,"channel":${quoted(row.channel)},"end":"${row.end}","basis":"${row.basis}","charge":"${formatMicro(row.charge)}"`
    line += `,"input":${row.input},"output":${row.output},"first_byte_ms":${row.firstByteMs}`
  }
  logLine(log, clock.now(), `${line},"duration_ms":${Math.round(totalMs)}`)
}
