;;; sould-show.el --- Showing, saving and problems, for agents  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The tools of agents that show a place, save, and list what Flymake reports.  Point and the focus stay the user's, unless they
;; asked for them.

;;; Code:

(require 'flymake)
(require 'xref)
(require 'sould-call)

(defconst sould-show--severities '("error" "warning" "information" "hint") "The worst first.")
(defconst sould-show--settling 3 "Seconds after a change in which problems may be those of the text before.")
(defconst sould-show--look 0.05 "Seconds between looks at what is reported.")

(defvar-local sould-show--settled nil "The text, as a tick of the buffer, whose problems are known.")

;;;; Opening

(defun sould-show-open (call)
  "Show the file of CALL.
In another window, unless its user asked to be taken there."
  (when (or (active-minibuffer-window) executing-kbd-macro defining-kbd-macro)
    (sould-call-fail "busy" "The user is in the middle of a command."))
  (let* ((file (sould-call-get call :file))
         (buffer (progn
                   (unless (file-readable-p file)
                     (sould-call-fail "not_found" "%s is not there." file))
                   (find-file-noselect file t)))
         (place (with-current-buffer buffer (sould-show--place call))))
    (if (sould-call-get call :focus)
        (sould-show--take buffer place (equal (sould-call-get call :column) "beside"))
      (sould-show--beside buffer place))
    (sould-call-return call '(:opened t :by "Emacs"))))

(defun sould-show--place (call)
  "Where CALL points to in the current buffer."
  (when (sould-call-at call)
    (sould-call-check call)
    (save-excursion
      (save-restriction
        (widen)
        (sould-call-go (sould-call-at call))
        (point)))))

(defun sould-show--in-sight-p (buffer place)
  "Whether the user sees PLACE of BUFFER where they are."
  (and (eq buffer (window-buffer))
       (or (null place) (pos-visible-in-window-p place))))

(defun sould-show--beside (buffer place)
  "Show PLACE of BUFFER in a window that is not the user's own at the moment."
  (unless (sould-show--in-sight-p buffer place)
    (let ((window (display-buffer buffer '((display-buffer-reuse-window display-buffer-use-some-window
                                            display-buffer-pop-up-window)
                                           (inhibit-same-window . t) (inhibit-switch-frame . t)))))
      (when (or (null window) (eq window (selected-window)))
        (sould-call-fail "not_supported" "Emacs has no window for it but the user's own."))
      (sould-show--put window place))))

(defun sould-show--take (buffer place beside)
  "Take the user to PLACE of BUFFER, BESIDE where they are if that is non-nil."
  (xref-push-marker-stack)
  (pop-to-buffer buffer (if beside '(nil (inhibit-same-window . t)) '(display-buffer-same-window)))
  (select-frame-set-input-focus (selected-frame))
  (sould-show--put (selected-window) place))

(defun sould-show--put (window place)
  "Have WINDOW show PLACE of its buffer, if there is one."
  (when place
    (with-selected-window window
      (unless (<= (point-min) place (point-max))
        (widen))
      (goto-char place)
      (recenter))))

;;;; Saving

(defun sould-show-save (call)
  "Save the files of CALL that are open."
  (let ((saved (mapcan (lambda (file)
                         (with-current-buffer (or (find-buffer-visiting file)
                                                  (sould-call-fail "not_found" "%s is not open in Emacs." file))
                           (when (or (not (buffer-modified-p)) (sould-sync-save))
                             (list file))))
                       (sould-call-get call :files))))
    (sould-call-return call (list :saved (vconcat saved)))))

;;;; Problems

(defun sould-show-diagnostics (call)
  "List what Flymake reports of the files of CALL, or of what is open."
  (sould-show--ask call (or (sould-call-get call :files) (sould-show--open-files call)) nil))

(defun sould-show--open-files (call)
  "The files of the project of CALL that have Flymake on."
  (let ((root (file-name-as-directory (sould-call-root call))))
    (delq nil (mapcar (lambda (buffer)
                        (let ((file (buffer-file-name buffer)))
                          (and file
                               (buffer-local-value 'flymake-mode buffer)
                               (string-prefix-p root (file-truename file))
                               (file-truename file))))
                      (buffer-list)))))

(defun sould-show--ask (call files found)
  "Answer CALL by FOUND and what is reported of FILES, one after another."
  (if (null files)
      (sould-show--list call found)
    (let* ((file (car files))
           (opened (find-buffer-visiting file))
           (buffer (sould-call-buffer call file)))
      (with-current-buffer buffer
        (unless (or flymake-mode (sould-call-server buffer))
          (sould-call-fail "not_supported" "Nothing in this Emacs reports problems of %s." (file-name-nondirectory file)))
        (unless flymake-mode
          (flymake-mode 1))
        (flymake-start)
        (sould-show--settle call buffer (and opened (sould-show--settled-p)) (flymake-diagnostics)
                            (+ (float-time) (/ (or (sould-call-get call :waitMs) 1500) 1000.0))
                            (lambda ()
                              (sould-show--ask call (cdr files)
                                               (append found (sould-show--problems call file)))))))))

(defun sould-show--settled-p ()
  "Whether what is reported is about the current buffer's text."
  (or (eql sould-show--settled (buffer-chars-modified-tick))
      (not sould-sync-changed)
      (> (- (float-time) sould-sync-changed) sould-show--settling)))

(defun sould-show--settle (call buffer settled before until then)
  "Call THEN in BUFFER when something else than BEFORE is reported.
At UNTIL it is called anyway, and with SETTLED at once.  Errors are the
answer to CALL."
  (sould-call-guard call
    (unless (buffer-live-p buffer)
      (sould-call-fail "not_found" "The buffer was closed."))
    (with-current-buffer buffer
      (if (or settled (> (float-time) until) (not (equal before (flymake-diagnostics))))
          (progn (setq sould-show--settled (buffer-chars-modified-tick))
                 (funcall then))
        (run-at-time sould-show--look nil #'sould-show--settle call buffer nil before until then)))))

(defun sould-show--severity (diagnostic)
  "How bad DIAGNOSTIC is, in the words of the catalogue."
  (let ((type (flymake-diagnostic-type diagnostic)))
    (pcase (or (and (symbolp type) (get type 'flymake-category)) type)
      ((or 'flymake-error :error) "error")
      ((or 'flymake-warning :warning) "warning")
      (_ "information"))))

(defun sould-show--problems (call file)
  "What is reported of FILE, whose buffer is current, as far as CALL wants it."
  (let ((worst (sould-show--rank (or (sould-call-get call :minSeverity) "warning"))))
    (save-restriction
      (widen)
      (delq nil (mapcar (lambda (each)
                          (let ((severity (sould-show--severity each)))
                            (when (<= (sould-show--rank severity) worst)
                              (list :file file :severity severity :message (flymake-diagnostic-text each)
                                    :range (sould-window-span (flymake-diagnostic-beg each)
                                                              (flymake-diagnostic-end each))))))
                        (flymake-diagnostics))))))

(defun sould-show--rank (severity)
  "How many severities are worse than SEVERITY."
  (or (seq-position sould-show--severities severity) 1))

(defun sould-show--list (call found)
  "Answer CALL by the problems FOUND, the worst first."
  (let ((sorted (seq-sort-by (lambda (each) (sould-show--rank (plist-get each :severity))) #'< found))
        counts)
    (dolist (each found)
      (let ((key (intern (concat ":" (plist-get each :severity)))))
        (setq counts (plist-put counts key (1+ (or (plist-get counts key) 0))))))
    (sould-call-return call (list :items (vconcat (seq-take sorted (or (sould-call-get call :limit) 100)))
                                  :counts counts))))

(provide 'sould-show)
;;; sould-show.el ends here
