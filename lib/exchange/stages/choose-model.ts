/** Which model: generate-content says it in the path, the others in the body. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Facts } from '../../protocols/facts.ts'
import { stage } from '../plan.ts'
import { refuse } from '../refuse.ts'
import { NEXT } from '../verdict.ts'

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
  // a pass by another model, which the key may not use
  const other = models === null || x.free ? undefined : facts.otherModels.find(name => name !== x.model)
  if (other !== undefined) return refuse(x, services, 'model_restricted', [other])
  return NEXT
})

/** Some clients say the model of the path in the body too, and some upstreams may read it there. */
const sameModel = (ofBody: string | null, ofPath: string): boolean => ofBody === ofPath || ofBody === `models/${ofPath}`
