/** For `ref` of a field that is opened to be written in. One function, so that it is called once a field and not at each drawing. */
export function focused(field: HTMLElement | null): void {
  field?.focus();
}
