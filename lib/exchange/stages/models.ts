/** Lists the models that a key may use, in one form that the clients of every protocol can read. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Target } from '../../terms/target.ts'
import type { Exchange } from '../record/exchange.ts'
import { stage } from '../plan.ts'
import { answer, ownHeaders, refuse, DONE } from '../record/ending.ts'
import type { Services } from '../record/services.ts'

/** The catalogue has no dates of models, and clients want one. */
const CREATED = { created: 1_767_225_600, created_at: '2026-01-01T00:00:00Z' }

export const listModels = stage<'admitted', never>((x, services) => {
  const { endpoint, model } = x.target as Target
  const ids = usableModels(x)
  if (endpoint.action === 'model') {
    if (model === null || !ids.includes(model)) refuse(x, services, 'model_unknown', [model ?? ''])
    else send(x, services, endpoint.native ? nativeEntry(x, model) : { ...entry(x, model), ...nativeEntry(x, model) })
  } else {
    send(x, services, endpoint.native ? { models: ids.map(id => nativeEntry(x, id)) } : page(x, ids))
  }
  return DONE
})

/** A model is usable when an enabled channel of the key's group has it, it has a price, and the key is not restricted to others. */
function usableModels(x: Exchange): string[] {
  const { key, models } = x.entry as KeyEntry
  const ids = x.world.routes.models(key.group)
  return ids.filter(id => (models === null || models.has(id)) && pricedProtocols(x, id).length > 0)
}

/** The protocols for which a channel has the model, as far as its price covers them. */
function pricedProtocols(x: Exchange, id: string): Protocol[] {
  const { group } = (x.entry as KeyEntry).key
  const tariff = x.world.tariff(group, id)
  return x.world.routes.protocolsOf(group, id).filter(protocol => tariff?.covers(protocol))
}

/** Those of them that no channel speaks, and one serves by translation. */
function translatedProtocols(x: Exchange, id: string): Protocol[] {
  const priced = pricedProtocols(x, id)
  return x.world.routes.translatedOf((x.entry as KeyEntry).key.group, id).filter(protocol => priced.includes(protocol))
}

function page(x: Exchange, ids: string[]): object {
  const query = new URLSearchParams(x.query)
  const after = query.get('after_id') ?? query.get('after')
  const rest = after === null ? ids : ids.filter(id => id > after)
  const limit = Number(query.get('limit') ?? '')
  const shown = Number.isInteger(limit) && limit > 0 ? rest.slice(0, limit) : rest
  return {
    object: 'list',
    data: shown.map(id => entry(x, id)),
    has_more: shown.length < rest.length,
    first_id: shown[0] ?? null,
    last_id: shown.at(-1) ?? null,
    models: shown.map(id => nativeEntry(x, id)),
  }
}

const entry = (x: Exchange, id: string) => ({
  id,
  type: 'model',
  object: 'model',
  display_name: id,
  ...CREATED,
  owned_by: 'gateway',
  protocols: pricedProtocols(x, id),
  translated: translatedProtocols(x, id),
})

const METHODS: Partial<Record<Protocol, string[]>> = {
  generate: ['generateContent', 'streamGenerateContent', 'countTokens'],
  embeddings: ['embedContent', 'batchEmbedContents'],
}

function nativeEntry(x: Exchange, id: string): object {
  const protocols = x.world.routes.protocolsOf((x.entry as KeyEntry).key.group, id)
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: protocols.flatMap(p => METHODS[p] ?? []),
  }
}

function send(x: Exchange, services: Services, body: object): void {
  const headers = ownHeaders(x)
  headers.push('content-type', 'application/json; charset=utf-8')
  answer(x, services, 200, headers, Buffer.from(JSON.stringify(body)))
}
