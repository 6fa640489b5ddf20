/**
 * Which model the files of a client name: one of the chosen group that speaks a protocol of the client. Everybody chooses
 * among the public groups, a member among those of the account.
 */
import { signal } from '@preact/signals'
import type { ClientRow, Offered } from '../../../lib/console/answers.ts'
import { get, Refused } from '../../base/ask.ts'
import { type Child, option, select } from '../../base/element.ts'
import { say, scripted } from '../../base/page.ts'
import { belongs, field, selectField } from '../../parts/field.ts'
import { account, accountPath } from '../../base/session.ts'
import { words } from '../../base/words.ts'
import { canBeAsked } from '../../shared/fill.ts'

const w = words({
  model: ['模型', 'Model'],
  group: ['分组', 'Group'],
})

type Model = Offered['models'][number]

interface ModelChoice {
  /** null = the catalogue has no models yet; undefined = none of them is for this client. */
  modelOf: (row: ClientRow) => Model | null | undefined
  /** The field for a client. Without a script the first model stands in the files. */
  choice: (row: ClientRow) => Child
  groups: () => Child
}

export function modelChoice(given: Offered): ModelChoice {
  const offered = signal(given)
  const chosen = signal('')
  const group = signal(given.group ?? '')
  let own = false

  /** Models that speak a protocol of the client themselves come first. */
  const speaking = ({ protocols }: ClientRow) => {
    const all = offered.value.models
      .filter(canBeAsked)
      .filter(model => model.protocols.some(protocol => protocols.includes(protocol)))
    const own = all.filter(model =>
      model.protocols.some(protocol => protocols.includes(protocol) && !model.translated.includes(protocol)),
    )
    return [...own, ...all.filter(model => !own.includes(model))]
  }
  const modelOf = (row: ClientRow) => {
    if (offered.value.models.length === 0) return null
    const models = speaking(row)
    return models.find(({ name }) => name === chosen.value) ?? models[0]
  }
  async function turnTo(name: string): Promise<void> {
    try {
      offered.value = await get<Offered>(own ? `${accountPath()}/models` : '/catalogue/models', { group: name })
      group.value = offered.value.group ?? ''
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      say(error.message, 'failed')
    }
  }
  group.subscribe(name => {
    if (name !== (offered.peek().group ?? '')) void turnTo(name)
  })
  /** A member chooses among the groups of the account as soon as it is known which that is. */
  const follow = () => {
    if (own || account.value === null) return
    own = true
    queueMicrotask(() => void turnTo(''))
  }
  return {
    modelOf,
    choice(row) {
      const names = speaking(row).map(({ name }) => name)
      if (!scripted.value || names.length === 0) return null
      const about = { name: `model-${row.id}`, label: w.model() }
      const value = modelOf(row)?.name ?? ''
      const onChange = (event: { currentTarget: HTMLSelectElement }) => (chosen.value = event.currentTarget.value)
      const options = names.map(name => option({ key: name, value: name, selected: name === value }, name))
      return field(about, select({ ...belongs(about), value, onChange }, options))
    },
    groups() {
      follow()
      const { groups } = offered.value
      if (!scripted.value || groups.length < 2) return null
      const choices = groups.map(name => ({ value: name, text: name }))
      return selectField({ name: 'group', label: w.group() }, group, choices)
    },
  }
}
