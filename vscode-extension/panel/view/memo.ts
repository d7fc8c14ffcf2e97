/** A component that is drawn anew only when its properties are others. */
import { Component, h, type ComponentClass, type FunctionComponent, type VNode } from "preact";

export function memo<Props extends object>(
  inner: FunctionComponent<Props>,
  same: (before: Props, after: Props) => boolean = shallow,
): ComponentClass<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      return !same(this.props, next);
    }

    override render(): VNode<Props> {
      return h<Props>(inner, this.props);
    }
  };
}

function shallow<Props extends object>(before: Props, after: Props): boolean {
  const [one, other] = [Object.entries(before), new Map(Object.entries(after))];
  return one.length === other.size && one.every(([name, value]) => Object.is(value, other.get(name)));
}
