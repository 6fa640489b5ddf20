/** Which model the files of a client name on the page Connect. */
import t from 'tap'
import { modelChoice } from '../../../web/pages/connect/models.ts'
import type { ClientRow } from '../../../lib/console/clients.ts'
import type { Offered } from '../../../lib/console/page-data.ts'
import type { ModelState } from '../../../lib/operations/catalogue/public-catalogue.ts'
import type { Protocol } from '../../../lib/protocols/names.ts'

t.test(
  'models that speak the protocol of the client themselves come first; offline and unpriced ones are not offered',
  async t => {
    const model = (name: string, protocols: Protocol[], translated: Protocol[], state: ModelState = 'available') => ({
      name,
      protocols,
      translated,
      state,
    })
    const both: Protocol[] = ['chat', 'messages']
    const models = [
      model('off', both, [], 'offline'),
      model('free', both, [], 'unpriced'),
      model('a', both, ['messages']),
      model('b', both, ['chat'], 'resting'),
      model('c', ['images'], []),
    ]
    const { modelOf } = modelChoice({ group: 'default', groups: ['default'], models } satisfies Offered)
    const chosen = (protocols: Protocol[]) => modelOf({ id: 'x', protocols } as unknown as ClientRow)?.name
    t.equal(chosen(['messages']), 'b')
    t.equal(chosen(['chat']), 'a')
    t.equal(chosen(['images']), 'c')
    t.equal(chosen(['responses']), undefined, 'none has it')
  },
)
