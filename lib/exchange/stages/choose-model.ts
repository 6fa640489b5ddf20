/** Finds out which model is asked for, in the path or in the body, and refuses one that the key may not use. */
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
  // the upstream would make a part of the answer with another model, which the key may not use
  const other = models === null || x.free ? undefined : facts.otherModels.find(name => name !== x.model)
  if (other !== undefined) return refuse(x, services, 'model_restricted', [other])
  return NEXT
})

/** Some clients repeat the model of the path in the body, and some upstreams may read it there. */
const sameModel = (ofBody: string | null, ofPath: string): boolean => ofBody === ofPath || ofBody === `models/${ofPath}`
