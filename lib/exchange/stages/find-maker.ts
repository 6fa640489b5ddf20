/**
 * Finds out who made the earlier answer that a request continues. Only the account that got that answer may continue it, and only
 * the channel and the key that made it can. When that channel is switched off, gone, or of another group, the client is told the
 * same as when there was no such answer.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Facts } from '../../protocols/facts.ts'
import type { AnswerMaker } from '../../store/store.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Exchange } from '../record/exchange.ts'
import { stage } from '../plan.ts'
import { refuse, storeFailed, NEXT, type Verdict } from '../record/ending.ts'
import type { Services } from '../record/services.ts'

export const findMaker = stage<'model', 'maker'>((x, services) => {
  const { previousAnswer } = x.facts as Facts
  if (previousAnswer === null) return NEXT
  const { key, account } = x.entry as KeyEntry
  // when no channel has the model at all, or it is offline, the next stage says so
  const route = x.world.routes.find(key.group, x.model, x.protocol as Protocol)
  if (route === undefined || route.tiers.length === 0) return NEXT
  const found = services.answers.find(account.id, previousAnswer)
  if (!(found instanceof Promise)) return judge(x, services, found)
  return found.then(
    maker => judge(x, services, maker),
    error => storeFailed(x, services, error),
  )
})

function judge(x: Exchange, services: Services, maker: AnswerMaker | null): Verdict {
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
