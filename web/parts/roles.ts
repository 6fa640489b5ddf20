/** The roles in an account, by name and by what they may do. */
import type { Signal } from '@preact/signals'
import type { VNode } from 'preact'
import type { Role } from '../../lib/base/people.ts'
import { fieldset, input, label, legend, span } from '../base/element.ts'
import { words } from '../base/words.ts'

const names = words({
  owner: ['所有者', 'Owner'],
  member: ['成员', 'Member'],
  billing: ['财务', 'Billing'],
  viewer: ['只读', 'Viewer'],
})

const powers = words({
  owner: ['管理账户中的一切', 'Everything in the account'],
  member: ['创建和管理自己的密钥', 'Makes and manages own keys'],
  billing: ['充值、账单与汇总，不能管理密钥', 'Top-ups, statements and totals; no keys'],
  viewer: ['查看全部内容，不能更改', 'Reads everything, changes nothing'],
})

const w = words({ role: ['角色', 'Role'] })

const ORDER = ['member', 'viewer', 'billing', 'owner'] as const satisfies readonly Role[]

export const roleName = (role: Role): string => names[role]()
export const rolePower = (role: Role): string => powers[role]()

/** One of the roles, each with what it means. */
export const roleChoice = (chosen: Signal<Role>): VNode =>
  fieldset(
    { class: 'choices' },
    legend({}, w.role()),
    ORDER.map(role =>
      label(
        { key: role, class: 'choice' },
        input({
          type: 'radio',
          name: 'role',
          value: role,
          checked: chosen.value === role,
          onChange: () => (chosen.value = role),
        }),
        span({}, span({ class: 'strong' }, names[role]()), span({ class: 'soft' }, powers[role]())),
      ),
    ),
  )
