/**
 * Answers a request that counts tokens where no upstream does: in the protocol's own form, with the number that would be the
 * input of such a request's hold.
 */
import type { KeyEntry } from '../access/keys.ts'
import type { Facts } from '../protocols/facts.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Protocol } from '../terms/records.ts'
import type { Exchange } from './exchange.ts'
import { answer, ownHeaders } from './refuse.ts'
import type { Services } from './services.ts'

/** For a model without a price, whose tariff would know better. */
const BYTES_PER_TOKEN = 4

export function answerEstimate(x: Exchange, services: Services): void {
  const tariff = x.world.tariff((x.entry as KeyEntry).key.group, x.model)
  const { prompt } = x.facts as Facts
  const tokens = tariff === null ? Math.ceil(prompt.textBytes / BYTES_PER_TOKEN) : tariff.estimatedInput(prompt)
  const headers = ownHeaders(x)
  headers.push('content-type', 'application/json; charset=utf-8')
  const body = JSON.stringify(protocolRow(x.protocol as Protocol).countAnswer?.(tokens))
  answer(x, services, 200, headers, Buffer.from(body))
}
