/** The end of every exchange: whatever is still taken goes back, then metrics and one log line. */
import { formatMicro } from '../base/money.ts'
import { logLine, quoted, quotedFromClient } from '../terms/log.ts'
import type { Exchange } from './exchange.ts'
import { CLIENT_CLOSED } from './verdict.ts'

export function finish(x: Exchange): void {
  const { services } = x
  services.openCount--
  if (x.status === 0) x.status = CLIENT_CLOSED
  if (x.relay !== null) services.sweeper.remove(x.relay)
  x.dropBody()
  if (x.hold !== null && !x.hold.resolved) services.ledger.void(x.hold)
  if (x.entered && x.entry !== null) services.concurrency.leave(x.entry.account.id)
  if (x.relay === null) x.claim?.release() // chosen and never asked
  const totalMs = services.clock.monotonic() - x.startedMs
  count(x, totalMs)
  log(x, totalMs)
}

function count(x: Exchange, totalMs: number): void {
  const { metrics } = x.services
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

function log(x: Exchange, totalMs: number): void {
  const { row, entry } = x
  const { log, clock } = x.services
  let line = `"id":"${x.id}","listener":"${x.listener}","method":${quoted(x.method)},"path":${quotedFromClient(x.path)}`
  line += `,"protocol":${x.protocol === null ? 'null' : `"${x.protocol}"`},"model":${quotedFromClient(x.model)},"status":${x.status}`
  line += `,"refusal":${x.refusal === null ? 'null' : `"${x.refusal}"`}`
  line += `,"address":${quoted(x.address)}`
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
