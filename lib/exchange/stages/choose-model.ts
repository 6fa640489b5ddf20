/** Which model: generate-content says it in the path, the others in the body. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Facts } from '../../protocols/facts.ts'
import { stage } from '../plan.ts'
import { DONE, NEXT } from '../verdict.ts'

export const chooseModel = stage<'key' | 'body' | 'confirmed', 'model'>(x => {
  const facts = x.facts as Facts
  const ofPath = x.target?.model ?? null
  if (ofPath === null && facts.modelSpan !== null && !facts.modelIsString) {
    x.refuse('not_json')
    return DONE
  }
  if (ofPath !== null && facts.modelSpan !== null && !sameModel(facts.model, ofPath)) {
    x.refuse('field', ['model'])
    return DONE
  }
  x.model = ofPath ?? facts.model ?? ''
  if (x.model === '') {
    x.refuse('no_model')
    return DONE
  }
  const { models } = x.entry as KeyEntry
  if (models !== null && !models.has(x.model)) {
    x.refuse('model_restricted', [x.model])
    return DONE
  }
  // a pass by another model, which the key may not use
  const other = models === null || x.free ? undefined : facts.otherModels.find(name => name !== x.model)
  if (other !== undefined) {
    x.refuse('model_restricted', [other])
    return DONE
  }
  return NEXT
})

/** Some clients say the model of the path in the body too, and some upstreams may read it there. */
const sameModel = (ofBody: string | null, ofPath: string): boolean => ofBody === ofPath || ofBody === `models/${ofPath}`
