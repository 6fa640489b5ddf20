/** The stages that find out which model is asked for, and who made the earlier answer that the request continues. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Facts } from '../../protocols/facts.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Exchange } from '../record/exchange.ts'
import { modelsBehind } from '../record/need.ts'
import { stage } from '../plan.ts'
import { refuse, NEXT, storeFailed, type Verdict } from '../record/ending.ts'
import type { AnswerMaker } from '../../store/store.ts'
import type { Services } from '../record/services.ts'

/** Finds out which model is asked for, in the path or in the body, and refuses one that the key may not use. */
export const chooseModel = stage<'key' | 'body' | 'confirmed', 'model'>((x, services) => {
  const facts = x.facts as Facts
  const ofPath = x.target?.model ?? null
  if (ofPath === null && facts.modelSpan !== null && !facts.modelIsString) return refuse(x, services, 'not_json')
  if (ofPath !== null && facts.modelSpan !== null && !sameModel(facts.model, ofPath))
    return refuse(x, services, 'field', ['model'])
  x.model = ofPath ?? facts.model ?? ''
  if (x.model === '') return refuse(x, services, 'no_model')
  const { models } = x.entry as KeyEntry
  if (models !== null && !models.has(x.model)) return refuse(x, services, 'model_restricted', [x.model])
  const other = models === null || x.free ? null : forbidden(x, models, facts.otherModels)
  if (other !== null) return refuse(x, services, 'model_restricted', [other])
  return NEXT
})

/**
 * The first model that the key may not use, of those with which an upstream would make a part of the answer; null = it may use all.
 * The body names them as the upstream does, or as we do, and each channel may have names of its own.
 */
function forbidden(x: Exchange, allowed: ReadonlySet<string>, others: readonly string[]): string | null {
  if (others.length === 0) return null
  const route = x.world.routes.find((x.entry as KeyEntry).key.group, x.model, x.protocol as Protocol)
  const serving = route?.tiers.flat().flatMap(({ channel }) => (channel.enabled ? [channel] : [])) ?? []
  const channels = serving.length === 0 ? [undefined] : serving
  for (const name of others)
    for (const channel of channels) {
      const model = modelsBehind(channel, name, x.model).find(one => !allowed.has(one))
      if (model !== undefined) return model
    }
  return null
}

/** Some clients repeat the model of the path in the body, and some upstreams may read it there. */
const sameModel = (ofBody: string | null, ofPath: string): boolean => ofBody === ofPath || ofBody === `models/${ofPath}`

// --- who made the earlier answer

/**
 * Finds out who made the earlier answer that a request continues. Only the account that got that answer may continue
 * it, and only the channel and the key that made it can. When that channel is switched off, gone, or of another
 * group, the client is told the same as when there was no such answer.
 */
export const findMaker = stage<'model', 'maker'>((x, services) => {
  const { previousAnswer } = x.facts as Facts
  if (previousAnswer === null) return NEXT
  const { key, account } = x.entry as KeyEntry
  // when no channel has the model at all, or it is offline, the next stage says so
  const route = x.world.routes.find(key.group, x.model, x.protocol as Protocol)
  if (route === undefined || route.tiers.length === 0) return NEXT
  const found = services.answers.find(account.id, previousAnswer)
  if (!(found instanceof Promise)) return judgeMaker(x, services, found)
  return found.then(
    maker => judgeMaker(x, services, maker),
    error => storeFailed(x, services, error),
  )
})

function judgeMaker(x: Exchange, services: Services, maker: AnswerMaker | null): Verdict {
  if (maker !== null && mayServe(x, maker)) {
    x.maker = maker
    return NEXT
  }
  return refuse(x, services, 'answer_unknown')
}

function mayServe(x: Exchange, maker: AnswerMaker): boolean {
  const { group } = (x.entry as KeyEntry).key
  const route = x.world.routes.find(group, x.model, x.protocol as Protocol)
  return (
    route?.tiers.some(tier =>
      tier.some(
        ({ channel }) =>
          channel.name === maker.channel && channel.enabled && channel.keys.some(key => key.fingerprint === maker.key),
      ),
    ) ?? false
  )
}
